// Package redact takes credentials out of what is shown: out of URLs, and out of texts
// of servers and libraries that may repeat them.
package redact

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// URL returns a repository's URL without the user, the query and the fragment, because each may be
// a secret. Of a URL that cannot be parsed only the scheme is left.
func URL(raw string) string {
	scheme, _, ok := strings.Cut(raw, "://")
	if !ok {
		host, _, _ := strings.Cut(raw, "/")
		if at := strings.LastIndex(host, "@"); at >= 0 && strings.Contains(host[at:], ":") {
			return raw[at+1:] // user@host:path
		}
		return raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return scheme + "://…"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// userinfo is where a URL in a text may have credentials.
var userinfo = regexp.MustCompile(`://[^/@\s'"]+@`)

// URLsIn takes the users and passwords out of the URLs in a text.
func URLsIn(text string) string { return userinfo.ReplaceAllString(text, "://") }

// Secrets are the spellings in which credentials could come back in a text, longest first.
type Secrets []string

// Password has the spellings of a user's password or token.
func Password(username, password string) Secrets {
	if password == "" {
		return nil
	}
	pair := username + ":" + password
	forms := Secrets{
		base64.StdEncoding.EncodeToString([]byte(pair)),
		base64.URLEncoding.EncodeToString([]byte(pair)),
		base64.RawStdEncoding.EncodeToString([]byte(pair)),
		url.UserPassword(username, password).String(),
		url.QueryEscape(password), url.PathEscape(password), password,
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	return forms
}

// In returns a text with the secrets replaced.
func (s Secrets) In(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "REDACTED")
	}
	return text
}
