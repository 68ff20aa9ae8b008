// Package githubapp refuses GitHub Apps: the client of GitHub's API is larger than all of the controller.
package githubapp

import (
	"context"
	"crypto/tls"
	"errors"
	"net/url"

	"github.com/fluxcd/pkg/cache"
)

// KeyAppID is the key of an App's id in a Secret.
const KeyAppID = "githubAppID"

// OptFunc is an option that nothing reads.
type OptFunc func()

// WithAppData is an option that nothing reads.
func WithAppData(map[string][]byte) OptFunc { return nil }

// WithProxyURL is an option that nothing reads.
func WithProxyURL(*url.URL) OptFunc { return nil }

// WithCache is an option that nothing reads.
func WithCache(_ *cache.TokenCache, _, _, _, _ string) OptFunc { return nil }

// WithTLSConfig is an option that nothing reads.
func WithTLSConfig(*tls.Config) OptFunc { return nil }

// GetCredentials refuses.
func GetCredentials(context.Context, ...OptFunc) (username, password string, err error) {
	return "", "", errors.New("GitHub Apps are not built into this controller")
}
