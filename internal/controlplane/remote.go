package controlplane

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
)

// Errors for URLs that are refused before anything is sent. They do not show the URL, which may
// contain secrets.
var (
	errSSH       = manifest.Problem{Reason: v1alpha1.ReasonCredentialsMissing, Message: "SSH needs a set of credentials with the files identity and known_hosts"}
	errSecretURL = manifest.Problem{Reason: v1alpha1.ReasonCredentialsInURL, Message: "the URL has credentials in it, which are not used: remove them, renew them if others could read them, and put them into a set of credentials"}
)

// checkURL refuses a repository that must not be opened. A control plane on a server must not name
// directories of this machine: whoever can commit to it would have them read.
func (s *Session) checkURL(url string) error {
	switch remote := catalog.IsRemoteURL(url); {
	case catalog.URLFault(url) != "": // not shown, because credentials may be anywhere in it
		return manifest.Problem{Reason: v1alpha1.ReasonInvalidURL, Message: fmt.Sprintf("the URL %s; write it as in https://git.example.com/team/fleet.git", catalog.URLFault(url))}
	case catalog.HasCredentials(url):
		return errSecretURL
	case !remote && s.remoteOnly():
		return manifest.Problem{Reason: v1alpha1.ReasonURLNotAllowed, Message: url + " is a directory of the machine that Furrow runs on, and the control plane is on a server: only the URLs of repositories on servers are opened"}
	case catalog.IsPlainHTTP(url) && !s.options.AllowHTTP:
		return manifest.Problem{Reason: v1alpha1.ReasonURLNotAllowed, Message: git.Remote{URL: url}.String() + " sends credentials and content in plain text: use https, or allow it with --allow-http"}
	}
	return nil
}

// CheckRepo returns why a GitOps repository cannot be opened, as far as that is known without a
// request to its server.
func CheckRepo(options Options, spec v1alpha1.GitOpsRepoSpec) ([]error, error) {
	var err error
	if options.ControlPlane, err = absolute(options.ControlPlane); err != nil {
		return nil, err
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return (&Session{options: options}).faultsOf(spec), nil
}

// faultsOf lists what is wrong with the settings of a repository; openRepo refuses it with the
// first.
func (s *Session) faultsOf(spec v1alpha1.GitOpsRepoSpec) (faults []error) {
	if u := spec.Update; u != "" && u != v1alpha1.UpdateWhenStale && u != v1alpha1.UpdateWhenBehind {
		faults = append(faults, manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Field: "spec.update", Message: fmt.Sprintf("spec.update %q is unknown", u), Next: "Write WhenStale or WhenBehind"})
	}
	kind, err := kindOf(spec)
	switch url := s.resolve(spec.URL); {
	case err != nil:
		faults = append(faults, err)
	case kind.open != nil && !catalog.IsRemoteURL(url):
		faults = append(faults, manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Field: "spec.forge", Message: fmt.Sprintf("spec.forge is %s, and spec.url is not the URL of a repository on a server", spec.Forge), Next: "Correct one of the two"})
	}
	if _, err := s.keys(spec); err != nil && (s.options.Credentials != nil || manifest.ReasonOf(err) != v1alpha1.ReasonSigningKeyMissing) {
		faults = append(faults, err)
	}
	if spec.Credentials != "" && s.options.Credentials == nil {
		return append(faults, manifest.Problem{Reason: v1alpha1.ReasonCredentialsMissing, Field: "spec.credentials", Message: fmt.Sprintf("it names the credentials %q, but no directory of credentials is given; use --credentials", spec.Credentials)})
	}
	remote, err := s.remote(s.resolve(spec.URL), spec.Credentials)
	if err == nil {
		err = checkDirectory(remote.URL, "spec.url", "git init --bare")
	}
	if err != nil {
		faults = append(faults, err)
	}
	return faults
}

// checkDirectory returns an error if a directory of this machine is not a repository.
func checkDirectory(url, field, command string) error {
	dir, local := catalog.LocalDir(url)
	if !local {
		return nil
	}
	stat := func(name string) error {
		_, err := os.Stat(name)
		return err
	}
	return directoryFault(dir, field, command, stat)
}

// directoryFault says why a directory is not a repository. One that this user may not read may be one.
func directoryFault(dir, field, command string, stat func(string) error) error {
	exists := stat(dir)
	for _, name := range []string{"HEAD", ".git"} {
		switch err := stat(filepath.Join(dir, name)); {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrPermission):
			return manifest.Problem{Reason: v1alpha1.ReasonCredentialsRefused, Message: fmt.Sprintf("Furrow may not read the directory %s (permission denied)", dir), Next: "Run Furrow as a user who may, or change the permissions of the directory and those above it"}
		case !errors.Is(err, fs.ErrNotExist):
			exists = cmp.Or(exists, err)
		}
	}
	switch {
	case exists == nil:
		return manifest.Problem{Reason: v1alpha1.ReasonRepositoryNotFound, Message: fmt.Sprintf("the directory %s is not a Git repository", dir), Next: fmt.Sprintf("Correct %s, or make it one with '%s'", field, command)}
	case errors.Is(exists, fs.ErrNotExist):
		return manifest.Problem{Reason: v1alpha1.ReasonRepositoryNotFound, Message: fmt.Sprintf("there is no directory %s", dir), Next: fmt.Sprintf("Correct %s, or make a repository there with '%s'", field, command)}
	}
	return manifest.Problem{Reason: v1alpha1.ReasonRepositoryFailed, Message: fmt.Sprintf("the directory %s cannot be read: %v", dir, exists), Next: "Correct " + field + ", or what the error names"}
}

// checkLocal refuses a GitOps repository on this machine that cannot be used, or that is another one
// by a link: each would take the other's branches for its own.
func (s *Session) checkLocal(name string, spec v1alpha1.GitOpsRepoSpec) error {
	dir, local := catalog.LocalDir(s.resolve(spec.URL))
	if !local {
		return nil
	}
	for _, shallow := range []string{".git/shallow", "shallow"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(shallow))); err == nil {
			return manifest.Problem{Reason: v1alpha1.ReasonRepositoryBroken, Repo: name, Message: fmt.Sprintf("the repository %s is shallow, and Furrow reads its history", dir), Next: fmt.Sprintf("Run 'git -C %s fetch --unshallow', or use a clone with all commits", dir)}
		}
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // whoever opens it reports that
	}
	for other, had := range s.repos {
		at, local := catalog.LocalDir(s.resolve(had.spec.URL))
		if !local || other == name || had.Base != spec.BranchOrDefault() {
			continue
		}
		if at, err := filepath.EvalSymlinks(at); err == nil && at == resolved {
			return manifest.Problem{Reason: v1alpha1.ReasonDuplicateDocument, Repo: name, Message: fmt.Sprintf("it is the same repository and branch as GitOpsRepo %q, by a link", other), Next: "Keep one of the two documents"}
		}
	}
	return nil
}

// remoteOnly reports whether the control plane's authors are not trusted with this machine's files,
// nor with the choice of where credentials are sent.
func (s *Session) remoteOnly() bool {
	return s.options.RemoteOnly || catalog.IsRemoteURL(s.options.ControlPlane)
}

// absolute makes a local path absolute, so it does not depend on the working directory.
func absolute(url string) (string, error) {
	if dir, local := catalog.LocalDir(url); local {
		return filepath.Abs(dir)
	}
	return url, nil
}

// resolve resolves the path of a GitOpsRepo on this machine; relative ones start at the control
// plane's directory.
func (s *Session) resolve(url string) string {
	dir, local := catalog.LocalDir(url)
	_, beside := catalog.LocalDir(s.options.ControlPlane)
	switch {
	case local && filepath.IsAbs(dir):
		return dir
	case local && beside:
		return filepath.Join(s.options.ControlPlane, dir)
	}
	return url
}

// open opens the mirror of a repository. Its directory depends on the URL as well, so a
// repository which moved does not empty the mirror of the old one while another process uses it.
func (s *Session) open(ctx context.Context, name string, remote git.Remote) (*git.Mirror, error) {
	sum := sha256.Sum256([]byte(remote.URL))
	return git.Open(ctx, filepath.Join(s.options.Cache, name+"-"+hex.EncodeToString(sum[:6])), remote)
}

// remote returns how a repository is reached, with the named set of credentials, if there is one.
// The checks are those of the package comment: a name in a GitOpsRepo must not be enough to have
// somebody's token sent to a server of one's choice.
func (s *Session) remote(url, credentials string) (git.Remote, error) {
	if err := s.checkURL(url); err != nil {
		return git.Remote{URL: url}, err
	}
	url = catalog.LongURL(url)
	remote := git.Remote{URL: url}
	if s.options.Credentials == nil || credentials == "" {
		return unsigned(remote)
	}
	if err := catalog.CheckCredentials(credentials); err != nil {
		return remote, err
	}
	own := credentials == ControlPlaneCredentials
	if own && catalog.CanonicalURL(url) != catalog.CanonicalURL(s.options.ControlPlane) {
		return remote, manifest.Problem{Reason: v1alpha1.ReasonCredentialsNotBound, Message: fmt.Sprintf("the credentials %q are for the control plane only; make a set for %s", credentials, remote)}
	}
	set, err := s.options.Credentials.Set(credentials)
	switch {
	case errors.Is(err, ErrPublic):
		return unsigned(remote)
	case err != nil:
		return remote, fmt.Errorf("there are no credentials %q: %w", credentials, manifest.About(manifest.Problem{Reason: v1alpha1.ReasonCredentialsMissing}, err))
	case !own || set.URL != "":
		if err := s.checkBound(set, credentials, remote); err != nil {
			return remote, err
		}
	}
	remote = set.sign(remote)
	if catalog.IsSSH(url) && (len(remote.Identity) == 0 || len(remote.KnownHosts) == 0) {
		return git.Remote{URL: url}, fmt.Errorf("the credentials %q: %w", credentials, errSSH)
	}
	if set.App != nil {
		return s.withApp(remote, credentials, *set.App)
	}
	return remote, nil
}

// checkBound refuses a set of credentials that is not for a repository.
func (s *Session) checkBound(set Set, name string, remote git.Remote) error {
	switch {
	case set.URL == "" && s.remoteOnly():
		return manifest.Problem{Reason: v1alpha1.ReasonCredentialsNotBound, Message: fmt.Sprintf("the credentials %q do not say where they may be sent", name), Next: fmt.Sprintf("Add a file url to the set, with the URL of the repository or the beginning of several, as in %s", remote)}
	case set.URL != "" && !catalog.WithinURL(remote.URL, set.URL):
		return manifest.Problem{Reason: v1alpha1.ReasonCredentialsNotBound, Message: fmt.Sprintf("the credentials %q are for %s only, and not for %s", name, git.Remote{URL: set.URL}, remote), Next: "Correct the url of the set, or make another set"}
	}
	return nil
}

// forAPI returns how the API of a repository's server is reached: by https, and never with the
// passphrase of a key.
func forAPI(remote git.Remote) git.Remote {
	if catalog.IsSSH(remote.URL) {
		remote.URL, remote.Username, remote.Password = catalog.WebURL(remote.URL), "", ""
	}
	return remote
}

// unsigned returns a remote without credentials, which SSH does not have.
func unsigned(remote git.Remote) (git.Remote, error) {
	if catalog.IsSSH(remote.URL) {
		return remote, errSSH
	}
	return remote, nil
}

// withApp adds the source of a GitHub App, whose requests for tokens are counted as no repository's.
func (s *Session) withApp(remote git.Remote, credentials string, o rest.AppOptions) (git.Remote, error) {
	if catalog.IsPlainHTTP(o.API) && !s.options.AllowHTTP {
		return git.Remote{URL: remote.URL}, manifest.Problem{Reason: v1alpha1.ReasonURLNotAllowed, Message: fmt.Sprintf("the credentials %q: githubAppBaseURL sends credentials in plain text: use https, or allow it with --allow-http", credentials)}
	}
	app, err := rest.NewApp(rest.Access{URL: catalog.WebURL(remote.URL), CABundle: remote.CABundle}, o)
	if err != nil {
		return git.Remote{URL: remote.URL}, fmt.Errorf("the credentials %q: %w", credentials, err)
	}
	remote.Token, remote.Source = "", app
	return remote, nil
}
