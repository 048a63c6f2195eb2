// Package docs has the pages of this folder that the program itself hands out.
package docs
