package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// scpURL is user@host:path, the short form of an SSH URL.
var scpURL = regexp.MustCompile(`(?s)^([^/@:]+@)?([^/@:]{2,}):([^/].*|/[^/].*)$`)

// LongURL returns the ssh:// URL of user@host:path; all other URLs stay as they are. Git starts the
// path at the user's home on the server and others at its root. On forges that makes no difference,
// and here it is always the root: what credentials are bound to is what is opened.
func LongURL(raw string) string {
	if strings.Contains(raw, "://") {
		return raw
	}
	if short := scpURL.FindStringSubmatch(raw); short != nil {
		return "ssh://" + short[1] + short[2] + "/" + strings.TrimLeft(short[3], "/")
	}
	return raw
}

// defaultPorts are those that a URL need not name.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ssh": "22"}

// slashes are those that servers read as one.
var slashes = regexp.MustCompile("/{2,}")

// CanonicalURL returns one form for all ways to write a repository's URL: no user, query or default
// port; scheme and host in lower case; no doubled slashes in the path, and no .git or slash at its end.
// For a directory on this machine it returns the clean path. Repositories are compared by this form only.
func CanonicalURL(raw string) string {
	if raw == "" {
		return ""
	}
	raw = LongURL(raw)
	scheme, _, hasScheme := strings.Cut(raw, "://")
	if !hasScheme {
		return withoutGit(path.Clean(raw))
	}
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	if strings.EqualFold(scheme, "file") {
		return withoutGit(path.Clean(u.Path))
	}
	host := hostOf(u)
	if port := u.Port(); port != "" && port != defaultPorts[u.Scheme] {
		host += ":" + port
	}
	return u.Scheme + "://" + host + withoutGit(slashes.ReplaceAllString(u.EscapedPath(), "/"))
}

// SameRepository reports whether two URLs, one of them from a cluster, may be of one repository. It
// ignores protocol, user, port and the name of the host, because clusters often reach a server by
// another name; the whole path must be equal but for case. Of a directory of this machine, compared with
// a URL or a relative path, only the last element is known.
func SameRepository(a, b string) bool {
	as, aLocal := elements(a)
	bs, bLocal := elements(b)
	if n := min(len(as), len(bs)); n > 0 && (aLocal || bLocal) && !(path.IsAbs(CanonicalURL(a)) && path.IsAbs(CanonicalURL(b))) {
		as, bs = as[len(as)-1:], bs[len(bs)-1:]
	}
	return len(as) > 0 && slices.EqualFunc(as, bs, strings.EqualFold)
}

// elements returns those of the path of a repository's URL.
func elements(raw string) (elements []string, local bool) {
	at := CanonicalURL(raw)
	if _, rest, ok := strings.Cut(at, "://"); ok {
		_, at, _ = strings.Cut(rest, "/")
	} else {
		local = true
	}
	return strings.FieldsFunc(at, func(r rune) bool { return r == '/' }), local
}

// hostOf returns the host of a URL without its port.
func hostOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func withoutGit(at string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(at, "/"), ".git"), "/")
}

// plainPath is a path that every server, and every proxy before one, reads alike, however often
// each decodes it. On any other, credentials that are bound to a part of a server could reach the
// rest of it.
var plainPath = regexp.MustCompile(`^(?:[A-Za-z0-9._~+/-]|%20)*$`)

// dots is an element of a path that leads elsewhere, on servers that leave out spaces and dots at
// the end, too.
var dots = regexp.MustCompile(`(?:^|/)(?:\.|%20)+(?:/|$)`)

// WithinURL reports whether a repository is the one that bound names, or lies below it on the same
// server.
func WithinURL(raw, bound string) bool {
	if URLFault(raw) != "" {
		return false
	}
	at, of := CanonicalURL(raw), CanonicalURL(bound)
	return at == of || IsRemoteURL(raw) && strings.HasPrefix(at, of+"/")
}

// CheckCredentials refuses what is not the name of a set of credentials, such as a path to those of
// others.
func CheckCredentials(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return manifest.Problem{Reason: v1alpha1.ReasonInvalidName, Field: "spec.credentials",
			Message: fmt.Sprintf("%q is not a valid name of credentials: use at most 63 lower case letters, digits and '-', and begin and end with a letter or digit", name)}
	}
	return nil
}

// oneSlash is the beginning of a URL that lacks a slash, which would be treated as a directory.
var oneSlash = regexp.MustCompile(`(?i)^(https?|file|ssh|git|ftp):/[^/]`)

// URLFault returns what is wrong with the form of a repository's URL; "" if nothing is. Paths of
// directories have no form. It refuses what two programs may read in different ways: the same URL
// is read by Furrow, by Git and by Flux, and credentials are bound to it.
func URLFault(raw string) string {
	if oneSlash.MatchString(raw) {
		return "needs two slashes after the scheme"
	}
	raw = LongURL(raw)
	scheme, _, hasScheme := strings.Cut(raw, "://")
	if !hasScheme {
		return ""
	}
	u, err := url.Parse(raw)
	scheme = strings.ToLower(scheme)
	remote := scheme == "http" || scheme == "https" || scheme == "ssh"
	switch {
	case strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "has a space or a control character in it"
	case err != nil:
		return "is not a valid URL"
	case scheme == "file" && u.Path == "", remote && strings.Trim(u.Path, "/") == "":
		if u.Host == "" {
			return "has no host and no path"
		}
		return "has no path"
	case scheme == "file":
		return ""
	case !remote:
		return "has a scheme that is not supported"
	case u.Hostname() == "":
		return "has no host"
	case strings.ContainsAny(raw, "?#"):
		return "has a query or a fragment"
	}
	if at := u.EscapedPath(); !plainPath.MatchString(at) || dots.MatchString(at) || strings.Contains(at, "//") {
		return "has a path that servers may read in different ways, with something else than letters, digits, '.', '_', '~', '+', '-' and '%20', or with nothing, '.' or '..' between slashes"
	}
	return ""
}

// IsRemoteURL reports whether a repository is on a server, by HTTP or SSH.
func IsRemoteURL(raw string) bool {
	scheme, _, ok := strings.Cut(raw, "://")
	return ok && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")) || IsSSH(raw)
}

// WebURL returns the https URL of a repository that is reached by SSH: that of the same path on the
// same host, or on the one that a host for SSH alone belongs to. Other URLs stay as they are.
func WebURL(raw string) string {
	if !IsSSH(raw) {
		return raw
	}
	u, err := url.Parse(CanonicalURL(raw))
	if err != nil {
		return raw
	}
	return "https://" + cmp.Or(sshHosts[strings.ToLower(u.Hostname())], hostOf(u)) + u.EscapedPath()
}

// sshHosts are the hosts that serve SSH at port 443, and nothing else, for others.
var sshHosts = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}

// LocalDir returns the directory of a repository on this machine, from a path or a plain file://
// URL; ok is false for all other URLs.
func LocalDir(raw string) (dir string, ok bool) {
	scheme, _, hasScheme := strings.Cut(raw, "://")
	if !hasScheme && !IsSSH(raw) {
		return raw, true
	}
	u, err := url.Parse(raw)
	if err != nil || !strings.EqualFold(scheme, "file") || u.Path == "" || u.Host != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	return u.Path, true
}

// IsSSH reports whether a URL is one of SSH.
func IsSSH(raw string) bool { return strings.HasPrefix(CanonicalURL(raw), "ssh://") }

// IsPlainHTTP reports whether what is sent to a repository could be read on the way: it
// is reached by http:// on another machine.
func IsPlainHTTP(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if host == "localhost" {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err != nil || !addr.IsLoopback()
}

// HasCredentials reports whether a URL has a user or a password in it. The user of SSH is not a
// secret.
func HasCredentials(raw string) bool {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return false
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	user, _, ok := strings.Cut(authority, "@")
	return ok && (!strings.EqualFold(scheme, "ssh") || strings.ContainsAny(user, ":%"))
}

// Origin identifies where a control plane is kept: the repository, by its URL or, where it has
// none, by its path on this machine, with the branch and the directory where those are not the
// usual ones. By which protocol a server is reached makes no difference, so all clones of a
// repository have the same origin.
func Origin(repository, branch, dir string) string {
	at := CanonicalURL(repository)
	if strings.HasPrefix(repository, "/") {
		at = path.Clean(repository) // a directory of the same name with .git is another repository
	}
	if scheme, rest, ok := strings.Cut(at, "://"); ok {
		at = rest
		if u, err := url.Parse("ssh://" + rest); err == nil && scheme == "ssh" {
			at = hostOf(u) + u.EscapedPath() // the ports of SSH and HTTP have nothing to do with each other
		}
	}
	if branch != DefaultBranch {
		at += "\nbranch " + branch
	}
	if dir = strings.Trim(path.Clean(dir), "/."); dir != "" {
		at += "\npath " + dir
	}
	sum := sha256.Sum256([]byte(at))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// DefaultBranch is the branch of a control plane where none is given.
const DefaultBranch = "main"
