// Package standalone owns the front end that needs no Kubernetes: a
// control-plane repository in, proposals and a status branch out.
//
// A Session opens the repositories that a control plane names, through mirrors
// in a cache directory that may be deleted at any time. Run repeats passes of
// the engine until its context ends. A Session is used by one goroutine.
package standalone

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/probe/flux"
)

// Options say where everything is.
type Options struct {
	// ControlPlane is the control-plane repository: a URL or a directory.
	ControlPlane string
	// Branch that people commit to.
	Branch string
	// Path of the control-plane tree in the repository; empty for its root.
	Path string
	// Credentials is a directory with one directory for each set of credentials:
	// files token, or username and password, ca.crt, and url, which binds the set
	// to what begins with it. The control plane's set is named control-plane.
	Credentials string
	// Cache is the directory of the mirrors.
	Cache string
	// ID and Environment make the owner of plans.
	ID, Environment string
	// DeletionGuard is the share of plantings, in percent, that may go in one pass.
	DeletionGuard int
	Strict        bool
	// Channel reads health; nil when there is none.
	Channel probe.Channel
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Watch makes the health channel that asks Flux on the clusters through the
// kubeconfigs in a directory, one file a cluster.
func (o *Options) Watch(kubeconfigs string) error {
	info, err := os.Stat(kubeconfigs)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file; name the directory that holds a kubeconfig for each cluster", kubeconfigs)
	}
	if err != nil {
		return fmt.Errorf("the directory of kubeconfigs: %w", err)
	}
	klog.SetLogger(logr.Discard()) // what client libraries log is in what the channel answers
	o.Channel = flux.New(flux.Options{Directory: kubeconfigs})
	return nil
}

const defaultBranch = "main"

// credentialsOfControlPlane names them in the credentials directory.
const credentialsOfControlPlane = "control-plane"

// author of Furrow's commits.
var author = git.Person{Name: "Furrow", Email: "furrow@noreply.furrow.dev"}

// Session is an open control plane.
type Session struct {
	options Options
	mirror  *git.Mirror
	repos   map[string]*Repo
	engine  *engine.Engine
}

// Repo is one GitOps repository of a session.
type Repo struct {
	Name   string
	Base   string
	Mirror *git.Mirror
	Forge  forge.Forge
	spec   v1alpha1.GitOpsRepoSpec
}

// Open opens the control plane's repository. GitOps repositories are opened when
// they are first needed.
func Open(options Options) (*Session, error) {
	options.Branch = cmp.Or(options.Branch, defaultBranch)
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.ControlPlane == "" {
		return nil, errors.New("no control-plane repository is given: use --control-plane, or set FURROW_CONTROL_PLANE")
	}
	s := &Session{options: options, repos: map[string]*Repo{}}
	var err error
	if s.options.ControlPlane, err = place(options.ControlPlane); err != nil {
		return nil, err
	}
	if s.mirror, err = s.open("control-plane", s.options.ControlPlane, credentialsOfControlPlane); err != nil {
		return nil, fmt.Errorf("the control-plane repository: %w", err)
	}
	s.engine = engine.New(engine.Config{
		Owner: s.owner(), ControlPlane: s.read, Open: s.openRepo, Channel: options.Channel,
		DeletionGuard: options.DeletionGuard, Strict: options.Strict, Person: author, Now: options.Now,
	})
	return s, nil
}

// Close lets go of the mirrors.
func (s *Session) Close() error {
	var errs []error
	if c, ok := s.options.Channel.(*flux.Channel); ok {
		c.Close()
	}
	for _, r := range s.repos {
		errs = append(errs, r.Mirror.Close())
	}
	if s.mirror != nil {
		errs = append(errs, s.mirror.Close())
	}
	return errors.Join(errs...)
}

// Engine is the session's engine.
func (s *Session) Engine() *engine.Engine { return s.engine }

// owner is <control-plane id>/<environment>. The id defaults to the repository's
// name, with the branch and the path where they are not the usual ones, so that
// two control planes in one repository are two owners.
func (s *Session) owner() string {
	id := s.options.ID
	if id == "" {
		id = strings.TrimSuffix(path.Base(strings.TrimRight(filepath.ToSlash(s.options.ControlPlane), "/")), ".git")
		if s.options.Branch != defaultBranch {
			id += "-" + strings.ReplaceAll(s.options.Branch, "/", "-")
		}
		if p := strings.Trim(path.Clean(filepath.ToSlash(s.options.Path)), "/."); p != "" {
			id += "-" + strings.ReplaceAll(p, "/", "-")
		}
	}
	return id + "/" + cmp.Or(s.options.Environment, "default")
}

// errSSH does not show the URL, in which people may have left a password.
var errSSH = errors.New("SSH is not supported; use the https URL of the repository")

// sshPlace is user@host:path.
var sshPlace = regexp.MustCompile(`^[^/@:]+@[^/:]+:`)

// place makes a local path absolute, so that it means the same everywhere.
func place(url string) (string, error) {
	if sshPlace.MatchString(url) || strings.HasPrefix(url, "ssh://") {
		return "", errSSH
	}
	if strings.Contains(url, "://") {
		return url, nil
	}
	return filepath.Abs(url)
}

// read is the control-plane tree as it is now.
func (s *Session) read(ctx context.Context) (engine.Tree, error) {
	refs, err := s.mirror.Fetch(ctx, s.options.Branch)
	if err != nil {
		return engine.Tree{}, err
	}
	commit, ok := refs[s.options.Branch]
	if !ok {
		return engine.Tree{}, fmt.Errorf("%s has no branch %q; commit to it, or name another with --branch", s.mirror, s.options.Branch)
	}
	if err := s.mirror.Prefetch(ctx, commit); err != nil {
		return engine.Tree{}, err
	}
	tree, err := s.mirror.FS(ctx, commit)
	if err == nil && s.options.Path != "" {
		tree, err = fs.Sub(tree, s.options.Path)
	}
	return engine.Tree{FS: tree, Revision: s.options.Branch + "@sha1:" + commit.String(), Place: s.mirror.String()}, err
}

// Tree is the control-plane tree as it is now, and its revision.
func (s *Session) Tree(ctx context.Context) (fs.FS, string, error) {
	tree, err := s.read(ctx)
	return tree.FS, tree.Revision, err
}

// Catalog reads the control plane.
func (s *Session) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	tree, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return catalog.Load(tree.FS)
}

// Repos opens all GitOps repositories that the control plane names, by name.
func (s *Session) Repos(ctx context.Context) (map[string]*Repo, error) {
	c, err := s.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	for name, doc := range c.Repos {
		if had, ok := s.repos[name]; doc.Spec.URL == "" || ok && had.spec == doc.Spec {
			continue
		}
		if _, err := s.openRepo(name, doc.Spec); err != nil {
			return nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
		}
	}
	return s.repos, nil
}

// openRepo opens a repository, anew where it was open: its document or its
// credentials may have changed.
func (s *Session) openRepo(name string, spec v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
	if spec.Credentials != "" && s.options.Credentials == "" {
		return engine.Repo{}, fmt.Errorf("it names the credentials %q, but no directory of credentials is given; use --credentials", spec.Credentials)
	}
	if sshPlace.MatchString(spec.URL) || strings.HasPrefix(spec.URL, "ssh://") {
		return engine.Repo{}, errSSH
	}
	m, err := s.open(name, s.resolve(spec.URL), spec.Credentials)
	if err != nil {
		return engine.Repo{}, err
	}
	if u := spec.Update; u != "" && u != v1alpha1.UpdateWhenStale && u != v1alpha1.UpdateWhenBehind {
		return engine.Repo{}, fmt.Errorf("spec.update %q is unknown. Write WhenStale or WhenBehind", u)
	}
	r := &Repo{Name: name, Base: spec.BranchOrDefault(), Mirror: m, spec: spec}
	if r.Forge, err = s.openForge(m, spec); err != nil {
		return engine.Repo{}, errors.Join(err, m.Close())
	}
	if had, ok := s.repos[name]; ok {
		if err := had.Mirror.Close(); err != nil {
			return engine.Repo{}, err
		}
	}
	s.repos[name] = r
	return engine.Repo{Mirror: r.Mirror, Forge: r.Forge}, nil
}

func (s *Session) openForge(m *git.Mirror, spec v1alpha1.GitOpsRepoSpec) (forge.Forge, error) {
	switch spec.ForgeOrDefault() {
	case v1alpha1.ForgePlain:
		return plain.New(m, spec.BranchOrDefault()), nil
	case v1alpha1.ForgeGitea:
		remote, err := s.remote(spec.URL, spec.Credentials)
		if err != nil {
			return nil, err
		}
		return gitea.New(m, spec.BranchOrDefault(), gitea.Options{
			URL: remote.URL, Token: remote.Token, Username: remote.Username, Password: remote.Password, CABundle: remote.CABundle,
		})
	}
	return nil, fmt.Errorf("spec.forge %q is unknown. Write Plain or Gitea", spec.Forge)
}

// resolve makes a GitOpsRepo's relative path relative to the control plane's directory.
func (s *Session) resolve(url string) string {
	if strings.Contains(url, "://") || filepath.IsAbs(url) || strings.Contains(s.options.ControlPlane, "://") {
		return url
	}
	return filepath.Join(s.options.ControlPlane, url)
}

func (s *Session) open(name, url, credentials string) (*git.Mirror, error) {
	remote, err := s.remote(url, credentials)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(url))
	return git.Open(filepath.Join(s.options.Cache, name+"-"+hex.EncodeToString(sum[:6])), remote)
}

// remote reads the credentials of that name, where there are any.
func (s *Session) remote(url, credentials string) (git.Remote, error) {
	remote := git.Remote{URL: url}
	if s.options.Credentials == "" || credentials == "" {
		return remote, nil
	}
	if credentials == credentialsOfControlPlane && url != s.options.ControlPlane {
		return remote, fmt.Errorf("the credentials %q are for the control plane only; make a set for %s", credentials, url)
	}
	dir := filepath.Join(s.options.Credentials, credentials)
	if _, err := os.Stat(dir); err != nil {
		if credentials == credentialsOfControlPlane {
			return remote, nil // a public control plane needs none
		}
		return remote, fmt.Errorf("there are no credentials %q: %w", credentials, err)
	}
	var ca string
	var bound string
	for name, into := range map[string]*string{"url": &bound, "token": &remote.Token, "username": &remote.Username, "password": &remote.Password, "ca.crt": &ca} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return remote, err
		}
		*into = strings.TrimSpace(string(data))
	}
	remote.CABundle = []byte(ca)
	if bound != "" && url != bound && !strings.HasPrefix(url, strings.TrimRight(bound, "/")+"/") {
		return git.Remote{URL: url}, fmt.Errorf("the credentials %q are for %s only", credentials, bound)
	}
	return remote, nil
}
