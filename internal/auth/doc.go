// Package auth identifies the users of a server and decides what they may do: roles, a file of users with hashes of
// their passwords, sessions, a token for one user, names that a proxy vouches for, and limits for those who try. It
// answers no request and draws no page.
//
// # OpenID
//
// A [Provider] signs users in at a provider of OpenID Connect: the code flow with PKCE, a state that is bound
// to one browser, and a nonce. It answers no request and draws no page. It is the one package that imports
// go-oidc.
package auth
