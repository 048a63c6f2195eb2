// Package testenv supports the tests of this module: it skips those without a program or a privilege that they need,
// compares output with golden files, reads cases that are one txtar file each, and waits for conditions.
//
// [Binary] builds the program once for all tests of a package, for tests that drive it from outside, as its
// users do. [EachCLI] drives the real agent CLIs that testdata/package.json installs, each in an environment of
// its own, and [ServeVendor] stands in for the APIs of their vendors on the loopback address: no test needs a
// key or reaches a vendor. A provider of OpenID Connect on loopback signs in every user that a test names.
//
// [StartPostgres] starts private servers of PostgreSQL for tests, from the binaries of the system. A server lives in a
// temporary directory and listens on a Unix socket there, and on a port of the loopback address if it is asked to.
package testenv
