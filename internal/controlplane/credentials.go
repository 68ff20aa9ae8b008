package controlplane

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
)

// ControlPlaneCredentials names the set of the control plane's own repository.
const ControlPlaneCredentials = "control-plane"

// Set is one set of credentials.
type Set struct {
	// Token, or Username and Password.
	Token    string `json:"-"`
	Username string `json:"-"`
	Password string `json:"-"`
	// App is a GitHub App, which is used instead; nil for none. Its repository is not set.
	App *rest.AppOptions `json:"-"`
	// Identity is a private key for SSH, whose passphrase is Password. KnownHosts are the host keys of
	// the servers.
	Identity   []byte `json:"-"`
	KnownHosts []byte
	// CABundle has PEM certificates that are trusted in addition to the system's.
	CABundle []byte
	// SigningKey is a private key that commits are signed with, and SigningPassphrase opens it.
	SigningKey        []byte `json:"-"`
	SigningPassphrase []byte `json:"-"`
	// URL restricts the set to repositories whose URLs begin with it; empty for no restriction.
	URL string
}

// NewSet reads a set from its files: token, or username and password, or those of a GitHub App;
// identity and known_hosts for SSH; signing.key and signing.passphrase; and ca.crt and url. The names are Flux's, but for token.
func NewSet(file func(name string) string) Set {
	trimmed := func(name string) string { return strings.TrimSpace(file(name)) }
	set := Set{
		Token: trimmed("token"), Username: trimmed("username"), Password: trimmed("password"),
		Identity: []byte(trimmed("identity")), KnownHosts: []byte(trimmed("known_hosts")),
		CABundle: []byte(trimmed("ca.crt")), URL: trimmed("url"),
		SigningKey: []byte(trimmed(SigningKeyFile)), SigningPassphrase: []byte(trimmed("signing.passphrase")),
	}
	app := rest.AppOptions{
		ID: trimmed("githubAppID"), Installation: trimmed("githubAppInstallationID"),
		PrivateKey: []byte(trimmed("githubAppPrivateKey")), API: trimmed("githubAppBaseURL"),
	}
	if app.ID != "" || app.Installation != "" || len(app.PrivateKey) > 0 {
		set.App = &app
	}
	return set
}

// sign adds the set to a remote. A password beside an identity is the passphrase of that, and is not
// sent to any server.
func (s Set) sign(remote git.Remote) git.Remote {
	remote.Token, remote.CABundle, remote.Identity, remote.KnownHosts = s.Token, s.CABundle, s.Identity, s.KnownHosts
	if catalog.IsSSH(remote.URL) || len(s.Identity) == 0 {
		remote.Username, remote.Password = s.Username, s.Password
	}
	return remote
}

// String shows no secret.
func (s Set) String() string { return "credentials" }

// GoString shows no secret either, for all verbs of fmt.
func (s Set) GoString() string { return s.String() }

// ErrPublic means that a repository must be read without credentials.
var ErrPublic = errors.New("no credentials are wanted")

// Credentials returns the current sets of credentials by name. The error is fs.ErrNotExist
// for a missing set; for the control plane's it may be ErrPublic.
type Credentials interface {
	Set(name string) (Set, error)
}

// KeyMaker is implemented by Credentials that can make a set with a key to sign with. It must not change
// a set that exists.
type KeyMaker interface {
	MakeKey(name, url string) error
}

// Directory holds one directory for each set of credentials, with its files.
type Directory string

// Set implements Credentials.
func (d Directory) Set(name string) (Set, error) {
	dir := filepath.Join(string(d), name)
	if _, err := os.Stat(dir); err != nil {
		if name == ControlPlaneCredentials && errors.Is(err, fs.ErrNotExist) {
			return Set{}, ErrPublic
		}
		return Set{}, err
	}
	var failed error
	set := NewSet(func(file string) string {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
		return string(data)
	})
	return set, failed
}
