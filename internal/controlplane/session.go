// Package controlplane opens what both front ends need: the control-plane repository and the GitOps
// repositories that it names, with their credentials and forges, and the engine that uses them.
//
//	Options ─▶ Session ─▶ Engine: passes
//	                  ├─▶ Repos: for commands on proposals
//	                  └─▶ Status: for those that only read
//
// A Session reads and writes through mirrors in a cache directory, which may be deleted at any
// time. A Session must not be used by several goroutines at once.
//
// Security rules, which all apply before anything is sent:
//   - Credentials are read again whenever a repository is opened, and are sent only to that
//     repository's server.
//   - If the control plane is on a server, its authors choose the URLs, and are not trusted with
//     this machine: directories are refused, and a set of credentials is used only for the URLs
//     that it names itself.
//   - SSH without known host keys, URLs with credentials in them and, unless allowed, plain HTTP
//     are refused. Such errors do not repeat the URL.
//   - A simulation writes only to repositories that were made for simulations.
package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/git/signature"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/render"
)

// Options configure a session.
type Options struct {
	// ControlPlane is the control-plane repository: a URL or a directory.
	ControlPlane string
	// Branch is the branch that people commit to.
	Branch string
	// PlansOf is the branch that plans belong to, if Branch is another one that is only read.
	PlansOf string
	// Commit pins the session to a commit of that branch; empty to follow the branch.
	Commit string
	// Tree is read instead of the commit; nil to read the commit.
	Tree fs.FS
	// Path is the directory of the control-plane tree in the repository; empty for its root.
	Path string
	// Credentials returns sets of credentials by name. The control plane's set is named
	// ControlPlaneCredentials. Nil if there are none.
	Credentials Credentials
	// RemoteOnly refuses repositories that are directories of this machine. It is implied for a
	// control plane on a server: its authors must not have access to the files of this machine.
	RemoteOnly bool
	// AllowHTTP allows http:// for other machines too.
	AllowHTTP bool
	// Simulation is set if the clusters are simulated; it restricts what may be written.
	Simulation *Simulation
	// Limits limit what is read of the control plane.
	Limits catalog.Limits
	// Plugins is the directory of the executables that may run as plugins; empty for none.
	Plugins string
	// Cache is the directory of the mirrors.
	Cache string
	// ID and Environment make the owner of plans. A ControlPlane document takes precedence over ID.
	ID, Environment string
	// DeletionGuard is the share of plantings, in percent, that may be removed at once.
	DeletionGuard int
	Strict        bool
	// Process names the process in the states that it publishes; empty for a command.
	Process string
	// TakeOver replaces plans that newer or unrelated commits made.
	TakeOver bool
	// Channel reads health; nil if there is none. It outlives the session.
	Channel probe.Channel
	// Settings returns, in each pass, what custom resources say about the control plane; nil if
	// there are none.
	Settings func(context.Context) (engine.Settings, error)
	// Observe may wrap an opened repository, to count its requests. The control plane's
	// repository has no name and no forge.
	Observe func(name string, repo engine.Repo) engine.Repo
	// ForgeLimits are what forges allow, for all sessions of a process; Open makes some if it is nil.
	ForgeLimits *rest.Limits
	// ObserveTransport may wrap the transport to a forge's server.
	ObserveTransport func(repo string, next http.RoundTripper) http.RoundTripper
	// Interval is the time between passes in which nothing changes; zero if passes are started by
	// hand.
	Interval time.Duration
	// Once reports whether the process ends after one pass.
	Once bool
	// Slices allows a pass to end before everything is done; the next one must follow at once.
	Slices bool
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Asker is the author of a person's requests; Furrow itself if it has no name.
	Asker git.Person
	// SignWith is the private key that a person's requests are signed with; nil to sign them as what
	// Furrow itself commits.
	SignWith *signature.Signer
	// VerifyWith are the keys that commits of the control plane must be signed with, in place of those
	// that its ControlPlane document names; nil if there are none.
	VerifyWith signature.Keyring
	// Progress is called during a pass. Record is called with every pass before it acts. Both may
	// be nil.
	Progress func(engine.Progress)
	Record   func(*engine.Record)
}

const (
	// slice is the duration after which a pass publishes and observes again, because people merge
	// meanwhile.
	slice = 2 * time.Second
	// forgeCalls is the number of proposals that are opened at once in a repository.
	forgeCalls = 4
)

// author is the author of Furrow's commits.
var author = git.Person{Name: "Furrow", Email: "furrow@noreply.furrow.dev"}

// Session is an open control plane: the mirrors of its repository and of its GitOps repositories,
// and the engine. It is for one goroutine at a time. Close releases all of it.
type Session struct {
	options Options
	mirror  *git.Mirror
	repos   map[string]*Repo
	engine  *engine.Engine
	// from is set by source.
	from     source
	rendered render.Cache
	history  history
	// verified is the commit that is in force; nil before the first read. kept is what the cache remembers.
	verified *verified
	kept     git.Hash
	ancestry ancestry
	// origin, owner and revision are set when the control plane is read.
	origin, owner, revision string
}

// Repo is one GitOps repository of a session. It may change from one pass to the next, when its
// document or its credentials do; do not keep it.
type Repo struct {
	Name   string
	Base   string
	Mirror *git.Mirror
	Forge  forge.Forge
	spec   v1alpha1.GitOpsRepoSpec
}

// Open opens the control plane's repository. GitOps repositories are opened when
// they are first needed.
func Open(ctx context.Context, options Options) (*Session, error) {
	options.Branch = cmp.Or(options.Branch, catalog.DefaultBranch)
	if options.Now == nil {
		options.Now = time.Now
	}
	options.ForgeLimits = cmp.Or(options.ForgeLimits, &rest.Limits{})
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
	if s.mirror, err = s.openOwn(ctx); err != nil {
		return nil, fmt.Errorf("the control-plane repository: %w", err)
	}
	config := engine.Config{
		Owner: s.givenOwner(), ControlPlane: s.read, Open: s.openRepo, Channel: options.Channel,
		DeletionGuard: options.DeletionGuard, Strict: options.Strict, Person: author, Asker: options.Asker, Interval: options.Interval, Now: options.Now, Progress: options.Progress, Record: options.Record, ForgeCalls: forgeCalls,
		Process: options.Process, TakeOver: options.TakeOver, Once: options.Once, Ledger: s.ledger(),
	}
	if options.Slices {
		config.Slice = slice
	}
	s.engine = engine.New(config)
	return s, nil
}

// Close closes the mirrors.
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

// Collect removes unused objects from the mirrors. Call it after a pass, when nothing that was read
// is in use. Failures are retried by the next call.
func (s *Session) Collect(ctx context.Context) {
	for _, r := range s.repos {
		_ = r.Mirror.Collect(ctx)
	}
	_ = s.mirror.Collect(ctx)
}

// URLs returns the URLs of the open GitOps repositories, sorted.
func (s *Session) URLs() []string {
	urls := map[string]bool{}
	for _, r := range s.repos {
		urls[s.resolve(r.spec.URL)] = true
	}
	return slices.Sorted(maps.Keys(urls))
}

// Location returns the URL or directory of the control plane, without credentials.
func (s *Session) Location() string { return git.Remote{URL: s.options.ControlPlane}.String() }

// Uses reports whether one of the URLs is that of the control plane or of a GitOps repository that
// is open.
func (s *Session) Uses(urls []string) bool {
	return slices.ContainsFunc(urls, func(url string) bool {
		for _, of := range s.Repositories() {
			if catalog.SameRepository(of, url) {
				return true
			}
		}
		return false
	})
}

// Wake is Uses for URLs of an event: what their forges remember of pull requests is read anew.
func (s *Session) Wake(urls []string) bool {
	uses := s.Uses(urls)
	for _, r := range s.repos {
		if f, ok := r.Forge.(interface{ Wake() }); ok && uses {
			f.Wake()
		}
	}
	return uses
}

// Repositories returns the URLs of the control plane and of the GitOps repositories that are open.
func (s *Session) Repositories() []string {
	out := []string{s.options.ControlPlane}
	for _, r := range s.repos {
		out = append(out, s.resolve(r.spec.URL))
	}
	return out
}

// Branch returns the branch of the control-plane repository that is read.
func (s *Session) Branch() string { return s.options.Branch }

// Channel returns the session's health channel.
func (s *Session) Channel() probe.Channel { return s.options.Channel }

// Engine returns the session's engine.
func (s *Session) Engine() *engine.Engine { return s.engine }

// read returns the current control-plane tree with the settings of custom resources. The engine
// calls it in each pass; an unchanged branch costs one request. An error leaves the settings in the
// tree, because they count also while the repository cannot be read.
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

// readTree adds files, revision and origin to a tree. All blobs are fetched in one request before
// anything is parsed. Credentials that are refused are read again once: they may have been renewed.
func (s *Session) readTree(ctx context.Context, tree engine.Tree) (engine.Tree, error) {
	refs, err := s.fetch(ctx)
	if git.IsAuth(err) && s.reopen(ctx) == nil { // its credentials may have been renewed
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
	var refused error
	if commit, refused, err = s.inForce(ctx, commit); err != nil {
		return tree, err
	}
	tree.Refused, tree.Anchor = refused, s.Anchor
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
	tree.Limits, tree.Plugins, tree.Rendered = s.options.Limits, s.options.Plugins, &s.rendered
	tree.FS, tree.Revision = files, s.options.Branch+"@sha1:"+commit.String()
	tree.LastCommit = s.lastCommit
	tree.Relation = s.relation(commit)
	if tree.Clone, err = s.isClone(ctx); err != nil {
		return tree, err
	}
	if s.options.Tree != nil {
		tree.FS, tree.Revision = s.options.Tree, "the files on disk"
	}
	return tree, nil
}

// maxBranches is the most branches that an error names.
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

// Below returns the subtree at --path. where describes the tree in errors.
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

// fetch fetches the control plane.
func (s *Session) fetch(ctx context.Context) (git.Refs, error) {
	if s.options.Observe == nil {
		return s.mirror.Fetch(ctx, s.options.Branch)
	}
	return s.options.Observe("", engine.Repo{Mirror: s.mirror}).Mirror.Fetch(ctx, s.options.Branch)
}

// pinned returns the pinned commit, which must be on the branch.
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

// openOwn opens the control plane's mirror with the current credentials.
func (s *Session) openOwn(ctx context.Context) (*git.Mirror, error) {
	remote, err := s.remote(s.options.ControlPlane, ControlPlaneCredentials)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, "control-plane", remote)
}

// reopen opens the control plane's mirror again with the current credentials.
func (s *Session) reopen(ctx context.Context) error {
	m, err := s.openOwn(ctx)
	if err != nil {
		return err
	}
	old := s.mirror
	s.mirror = m
	return old.Close()
}

// Tree returns the current control-plane tree and its revision.
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

// Repos opens all GitOps repositories that the control plane names. It returns them by name,
// with the identity of the control plane's plans. It does not read the seeds.
func (s *Session) Repos(ctx context.Context) (map[string]*Repo, plan.Identity, error) {
	is, c, err := s.identity(ctx)
	if err != nil {
		return nil, is, err
	}
	if err := s.OpenRepos(ctx, c); err != nil {
		return nil, is, err
	}
	return s.repos, is, nil
}

// inventoryOf reads a tree without its seeds, which would take most of the time.
func inventoryOf(tree engine.Tree) (*catalog.Catalog, error) {
	return tree.Limits.LoadInventory(tree.FS, tree.Resources())
}

// OpenRepos opens the GitOps repositories that a catalog declares, and skips those that
// fail. It sends no requests to their servers.
func (s *Session) OpenRepos(ctx context.Context, c *catalog.Catalog) error {
	var failed error
	for _, name := range slices.Sorted(maps.Keys(c.Repos)) {
		spec := c.Repos[name].Spec
		if had, ok := s.repos[name]; spec.URL == "" || ok && reflect.DeepEqual(had.spec, spec) {
			continue
		}
		if _, err := s.openRepo(ctx, name, spec); err != nil {
			failed = errors.Join(failed, fmt.Errorf("GitOpsRepo %q: %w", name, manifest.About(manifest.Problem{Repo: name}, err)))
		}
	}
	return failed
}

// openRepo opens a repository, again if it is open: its document or its credentials
// may have changed.
func (s *Session) openRepo(ctx context.Context, name string, spec v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
	if faults := s.faultsOf(spec); len(faults) > 0 {
		return engine.Repo{}, faults[0]
	}
	if err := s.checkSimulation(s.resolve(spec.URL)); err != nil {
		return engine.Repo{}, err
	}
	if err := s.checkLocal(name, spec); err != nil {
		return engine.Repo{}, err
	}
	return s.openMirror(ctx, name, spec, true)
}

// openMirror opens a repository without checks: after them, or to read its last known state, which
// takes no keys.
func (s *Session) openMirror(ctx context.Context, name string, spec v1alpha1.GitOpsRepoSpec, requireKeys bool) (engine.Repo, error) {
	remote, err := s.remote(s.resolve(spec.URL), spec.Credentials)
	if err != nil {
		return engine.Repo{}, err
	}
	m, err := s.open(ctx, name, remote)
	if err != nil {
		return engine.Repo{}, err
	}
	keys, err := s.keys(spec)
	if err != nil && requireKeys {
		return engine.Repo{}, errors.Join(err, m.Close())
	}
	m.SetKeys(keys)
	r := &Repo{Name: name, Base: spec.BranchOrDefault(), Mirror: m, spec: spec}
	if r.Forge, err = s.openForge(name, m, forAPI(remote), spec); err != nil {
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
