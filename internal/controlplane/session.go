// Package controlplane owns what both front ends open: the control-plane
// repository and the GitOps repositories that it names, with their credentials
// and forges, and the engine over them.
//
// A Session reads and writes through mirrors in a cache directory that may be
// deleted at any time. Credentials are read anew whenever a repository is opened,
// and go nowhere but to that repository's server. A Session is used by one
// goroutine.
package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/render"
)

// Options say where everything is.
type Options struct {
	// ControlPlane is the control-plane repository: a URL or a directory.
	ControlPlane string
	// Branch that people commit to.
	Branch string
	// PlansOf is the branch that plans belong to, if Branch is another one that is only read.
	PlansOf string
	// Commit of that branch to stay at; empty to follow it.
	Commit string
	// Tree is looked at instead of what is committed; nil to look at that.
	Tree fs.FS
	// Path of the control-plane tree in the repository; empty for its root.
	Path string
	// Credentials gives sets of credentials by name. The control plane's set is named
	// ControlPlaneCredentials. Nil when there are none.
	Credentials Credentials
	// RemoteOnly refuses repositories that are directories of this machine. It is implied for a
	// control plane that is not a directory itself: its authors must not choose among the files of
	// this machine.
	RemoteOnly bool
	// AllowHTTP lets http:// be used for other machines too.
	AllowHTTP bool
	// Simulation says that the clusters are simulated, and what may be written then; nil where they are real.
	Simulation *Simulation
	// Limits bound what is read of the control plane.
	Limits catalog.Limits
	// Cache is the directory of the mirrors.
	Cache string
	// ID and Environment make the owner of plans. A ControlPlane document comes before the ID.
	ID, Environment string
	// DeletionGuard is the share of plantings, in percent, that may go at once.
	DeletionGuard int
	Strict        bool
	// Channel reads health; nil when there is none. It outlives the session.
	Channel probe.Channel
	// Settings returns, in each pass, what custom resources say about the control plane; nil if there
	// are none.
	Settings func(context.Context) (engine.Settings, error)
	// Observe may wrap a repository that was opened, to count what is asked of it. That of
	// the control plane has no name, and no forge.
	Observe func(name string, repo engine.Repo) engine.Repo
	// ObserveAnswers may wrap the transport to a forge's server.
	ObserveAnswers func(repo string, next http.RoundTripper) http.RoundTripper
	// Interval lies between passes in which nothing changed; zero when they are made by hand.
	Interval time.Duration
	// Slices lets a pass end before everything is done, where the next one follows at once.
	Slices bool
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Progress is called during a pass, Record given every pass before it acts; nil when nobody asks.
	Progress func(engine.Progress)
	Record   func(*engine.Record)
}

const (
	// slice is how long a pass takes before it publishes and observes anew: people merge meanwhile.
	slice = 2 * time.Second
	// forgeCalls is how many proposals are opened at once in a repository.
	forgeCalls = 4
)

// author of Furrow's commits.
var author = git.Person{Name: "Furrow", Email: "furrow@noreply.furrow.dev"}

// Session is an open control plane.
type Session struct {
	options Options
	mirror  *git.Mirror
	repos   map[string]*Repo
	engine  *engine.Engine
	// from is known once it was asked for.
	from     source
	rendered render.Cache
	// origin and owner are known once the control plane was read.
	origin, owner, revision string
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
	options.Branch = cmp.Or(options.Branch, catalog.DefaultBranch)
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.ControlPlane == "" {
		return nil, manifest.Problem{Reason: v1alpha1.ReasonInvalidArgument, Message: "no control-plane repository is given: use --control-plane, or set FURROW_CONTROL_PLANE"}
	}
	options.PlansOf = cmp.Or(options.PlansOf, options.Branch)
	options.Environment = cmp.Or(options.Environment, "default")
	if err := CheckOwner(options.ID, options.Environment); err != nil {
		return nil, err
	}
	s := &Session{options: options, repos: map[string]*Repo{}}
	var err error
	if s.options.ControlPlane, err = absolute(options.ControlPlane); err != nil {
		return nil, err
	}
	if s.mirror, err = s.open("control-plane", s.options.ControlPlane, ControlPlaneCredentials); err != nil {
		return nil, fmt.Errorf("the control-plane repository: %w", err)
	}
	config := engine.Config{
		Owner: s.givenOwner(), ControlPlane: s.read, Open: s.openRepo, Channel: options.Channel,
		DeletionGuard: options.DeletionGuard, Strict: options.Strict, Person: author, Interval: options.Interval, Now: options.Now, Progress: options.Progress, Record: options.Record, ForgeCalls: forgeCalls,
	}
	if options.Slices {
		config.Slice = slice
	}
	s.engine = engine.New(config)
	return s, nil
}

// Close lets go of the mirrors.
func (s *Session) Close() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.repos)) {
		errs = append(errs, s.repos[name].Mirror.Close())
	}
	if s.mirror != nil {
		errs = append(errs, s.mirror.Close())
	}
	return errors.Join(errs...)
}

// Collect lets the mirrors remove what nobody needs, after a pass, or when nothing that was read is needed any more. What fails is
// tried again the next time.
func (s *Session) Collect(ctx context.Context) {
	for _, r := range s.repos {
		_ = r.Mirror.Collect(ctx)
	}
	_ = s.mirror.Collect(ctx)
}

// URLs are those of the open GitOps repositories, in order.
func (s *Session) URLs() []string {
	urls := map[string]bool{}
	for _, r := range s.repos {
		urls[s.resolve(r.spec.URL)] = true
	}
	return slices.Sorted(maps.Keys(urls))
}

// Place is the control-plane repository, without credentials.
func (s *Session) Place() string { return git.Remote{URL: s.options.ControlPlane}.String() }

// Branch is the branch of the control-plane repository that is read.
func (s *Session) Branch() string { return s.options.Branch }

// Channel is the session's health channel.
func (s *Session) Channel() probe.Channel { return s.options.Channel }

// Engine is the session's engine.
func (s *Session) Engine() *engine.Engine { return s.engine }

// read is the control-plane tree as it is now, with what custom resources say of it.
func (s *Session) read(ctx context.Context) (engine.Tree, error) {
	var tree engine.Tree
	if s.options.Settings != nil {
		settings, err := s.options.Settings(ctx)
		if err != nil {
			return tree, err
		}
		tree.Settings = &settings
	}
	return s.readTree(ctx, tree)
}

func (s *Session) readTree(ctx context.Context, tree engine.Tree) (engine.Tree, error) {
	refs, err := s.fetch(ctx)
	if git.IsAuth(err) && s.reopen() == nil { // its credentials may have been renewed
		refs, err = s.fetch(ctx)
	}
	if err != nil {
		return tree, cmp.Or(checkDirectory(s.options.ControlPlane, "--control-plane", "git init"), err)
	}
	commit, ok := refs[s.options.Branch]
	if !ok {
		return tree, s.errNoBranch(ctx)
	}
	if s.options.Commit != "" {
		if commit, err = s.pinned(commit); err != nil {
			return tree, err
		}
	}
	if err := s.mirror.Prefetch(ctx, commit); err != nil {
		return tree, err
	}
	files, err := s.mirror.FS(ctx, commit)
	if err == nil && s.options.Path != "" {
		files, err = Below(files, s.options.Path, fmt.Sprintf("branch %q of %s", s.options.Branch, git.Remote{URL: s.options.ControlPlane}))
	}
	if err != nil {
		return tree, err
	}
	if tree.Origin, err = s.originOf(ctx); err != nil {
		return tree, err
	}
	tree.Limits, tree.Rendered = s.options.Limits, &s.rendered
	tree.FS, tree.Revision, tree.Place = files, s.options.Branch+"@sha1:"+commit.String(), s.mirror.String()
	if s.options.Tree != nil {
		tree.FS, tree.Revision = s.options.Tree, "the files on disk"
	}
	return tree, nil
}

// maxBranches is how many branches an error names.
const maxBranches = 10

// errNoBranch names the branches that exist instead of the wanted one.
func (s *Session) errNoBranch(ctx context.Context) error {
	branches, err := s.mirror.Branches(ctx)
	if err != nil {
		return err
	}
	where := git.Remote{URL: s.options.ControlPlane}
	branches = slices.DeleteFunc(branches, func(name string) bool { return strings.HasPrefix(name, git.BranchPrefix) })
	if len(branches) == 0 {
		return manifest.Problem{Reason: v1alpha1.ReasonBranchNotFound, Message: fmt.Sprintf("%s has no branch yet; commit to %q", where, s.options.Branch)}
	}
	more := ""
	if n := len(branches) - maxBranches; n > 0 {
		branches, more = branches[:maxBranches], fmt.Sprintf(" and %d more", n)
	}
	return manifest.Problem{Reason: v1alpha1.ReasonBranchNotFound, Message: fmt.Sprintf("%s has no branch %q; it has %s%s", where, s.options.Branch, strings.Join(branches, ", "), more),
		Next: "Name the branch to read with --branch (--ref of 'kubectl furrow plan', spec.source.revision of a Seed)"}
}

// Below is the directory of a tree that --path names. where says which tree it is.
func Below(tree fs.FS, dir, where string) (fs.FS, error) {
	sub, err := catalog.Sub(tree, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, manifest.Problem{Reason: v1alpha1.ReasonPathNotFound, Path: dir, Message: fmt.Sprintf("%s has no directory %q; correct --path (spec.source.path of a Seed)", where, dir)}
	case err != nil:
		return nil, fmt.Errorf("the path of the control plane in %s: %w", where, manifest.About(manifest.Problem{Reason: v1alpha1.ReasonPathNotFound, Path: dir}, err))
	}
	return sub, nil
}

// fetch asks the control plane's server.
func (s *Session) fetch(ctx context.Context) (git.Refs, error) {
	if s.options.Observe == nil {
		return s.mirror.Fetch(ctx, s.options.Branch)
	}
	return s.options.Observe("", engine.Repo{Mirror: s.mirror}).Mirror.Fetch(ctx, s.options.Branch)
}

// pinned is the commit to stay at, which must be one of the branch.
func (s *Session) pinned(tip git.Hash) (git.Hash, error) {
	commit, err := git.ParseHash(s.options.Commit)
	if err != nil {
		return commit, manifest.Problem{Reason: v1alpha1.ReasonCommitNotFound, Message: fmt.Sprintf("the commit %q of the revision is not a commit id; write <branch>@sha1:<40 hexadecimal digits>", s.options.Commit)}
	}
	on, err := s.mirror.IsAncestor(commit, tip)
	if err == nil && !on {
		err = manifest.Problem{Reason: v1alpha1.ReasonCommitNotFound, Message: fmt.Sprintf("%s has no commit %s on branch %q; correct the revision", s.mirror, commit, s.options.Branch)}
	}
	return commit, err
}

// reopen opens the control plane's mirror with the credentials as they are now.
func (s *Session) reopen() error {
	m, err := s.open("control-plane", s.options.ControlPlane, ControlPlaneCredentials)
	if err != nil {
		return err
	}
	old := s.mirror
	s.mirror = m
	return old.Close()
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
	return tree.Catalog(ctx)
}

// Repos opens all GitOps repositories that the control plane names, by name, and says
// whose plans those of the control plane are. It does not read the seeds.
func (s *Session) Repos(ctx context.Context) (map[string]*Repo, plan.Identity, error) {
	is, c, err := s.identity(ctx)
	if err != nil {
		return nil, is, err
	}
	if err := s.OpenRepos(c); err != nil {
		return nil, is, err
	}
	return s.repos, is, nil
}

// inventoryOf reads a tree without its seeds, which take most of the time.
func inventoryOf(tree engine.Tree) (*catalog.Catalog, error) {
	return tree.Limits.LoadInventory(tree.FS, tree.Resources())
}

// OpenRepos opens the GitOps repositories that a catalog declares, as far as that can
// be done. Nothing is asked of their servers yet.
func (s *Session) OpenRepos(c *catalog.Catalog) error {
	var failed error
	for _, name := range slices.Sorted(maps.Keys(c.Repos)) {
		spec := c.Repos[name].Spec
		if had, ok := s.repos[name]; spec.URL == "" || ok && had.spec == spec {
			continue
		}
		if _, err := s.openRepo(name, spec); err != nil {
			failed = errors.Join(failed, fmt.Errorf("GitOpsRepo %q: %w", name, manifest.About(manifest.Problem{Repo: name}, err)))
		}
	}
	return failed
}

// openRepo opens a repository, anew where it was open: its document or its
// credentials may have changed.
func (s *Session) openRepo(name string, spec v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
	if faults := s.faultsOf(spec); len(faults) > 0 {
		return engine.Repo{}, faults[0]
	}
	if err := s.checkSimulation(s.resolve(spec.URL)); err != nil {
		return engine.Repo{}, err
	}
	return s.openMirror(name, spec)
}

// openMirror opens a repository that passed the checks, or whose last known state is wanted.
func (s *Session) openMirror(name string, spec v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
	m, err := s.open(name, s.resolve(spec.URL), spec.Credentials)
	if err != nil {
		return engine.Repo{}, err
	}
	r := &Repo{Name: name, Base: spec.BranchOrDefault(), Mirror: m, spec: spec}
	if r.Forge, err = s.openForge(name, m, spec); err != nil {
		return engine.Repo{}, errors.Join(err, m.Close())
	}
	if had, ok := s.repos[name]; ok {
		if err := had.Mirror.Close(); err != nil {
			return engine.Repo{}, err
		}
	}
	s.repos[name] = r
	opened := engine.Repo{Mirror: r.Mirror, Forge: r.Forge}
	if s.options.Observe != nil {
		opened = s.options.Observe(name, opened)
	}
	return opened, nil
}

func (s *Session) openForge(name string, m *git.Mirror, spec v1alpha1.GitOpsRepoSpec) (forge.Forge, error) {
	switch spec.ForgeOrDefault() {
	case v1alpha1.ForgePlain:
		return plain.New(m, spec.BranchOrDefault()), nil
	case v1alpha1.ForgeGitea:
		remote, err := s.remote(spec.URL, spec.Credentials)
		if err != nil {
			return nil, err
		}
		o := gitea.Options{URL: remote.URL, Token: remote.Token, Username: remote.Username, Password: remote.Password, CABundle: remote.CABundle}
		if s.options.ObserveAnswers != nil {
			o.Observe = func(next http.RoundTripper) http.RoundTripper { return s.options.ObserveAnswers(name, next) }
		}
		return gitea.New(m, spec.BranchOrDefault(), o)
	}
	return nil, errUnknownForge(spec.Forge)
}
