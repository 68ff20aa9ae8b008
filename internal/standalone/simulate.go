package standalone

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/simulator"
)

// Simulation plays the clusters that a control plane declares, in this process.
// It is a health channel. When the declared clusters change, all of them start
// anew and go through the newest commits of the base branch.
type Simulation struct {
	session *controlplane.Session

	mu        sync.Mutex
	simulator *simulator.Simulator
	// revision of the control plane that was read last, and the clusters that it declares.
	revision, declared string
}

// Simulate makes the session's clusters simulated ones. Unless the options say otherwise, it writes
// to repositories that were made for simulations alone.
func Simulate(ctx context.Context, options controlplane.Options) (*controlplane.Session, *Simulation, error) {
	sim := &Simulation{}
	options.Channel = sim
	options.Simulation = cmp.Or(options.Simulation, &controlplane.Simulation{})
	s, err := controlplane.Open(ctx, options)
	sim.session = s
	return s, sim, err
}

// Reconcilers implements probe.Channel.
func (s *Simulation) Reconcilers(ctx context.Context, keys []probe.ReconcilerKey) (map[probe.ReconcilerKey]health.Reconciler, error) {
	n := s.Simulator()
	if n == nil {
		return map[probe.ReconcilerKey]health.Reconciler{}, nil
	}
	return n.Channel().Reconcilers(ctx, keys)
}

// Creators implements probe.Channel.
func (s *Simulation) Creators(ctx context.Context, keys []probe.CreatorKey) (map[probe.CreatorKey]health.Creator, error) {
	n := s.Simulator()
	if n == nil {
		return map[probe.CreatorKey]health.Creator{}, nil
	}
	return n.Channel().Creators(ctx, keys)
}

// Roots implements probe.Channel.
func (s *Simulation) Roots(ctx context.Context, keys []probe.RootKey) (map[probe.RootKey]health.Root, error) {
	if err := s.follow(ctx); err != nil {
		return nil, err
	}
	return s.Simulator().Channel().Roots(ctx, keys)
}

// Simulator returns the one that plays the clusters now; nil before the first Tick.
func (s *Simulation) Simulator() *simulator.Simulator {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.simulator
}

// Tick advances all simulated clusters by one step.
func (s *Simulation) Tick(ctx context.Context) error {
	if err := s.follow(ctx); err != nil {
		return err
	}
	return s.Simulator().Tick(ctx)
}

// follow starts the clusters that the control plane declares now. It reads the control plane where
// that has changed only: parsing all seeds takes longer than a tick.
func (s *Simulation) follow(ctx context.Context) error {
	_, revision, err := s.session.Tree(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.simulator != nil && s.revision == revision {
		return nil
	}
	c, err := s.session.Catalog(ctx)
	if err != nil {
		return err
	}
	clusters := simulated(c)
	declared := fmt.Sprint(clusters)
	if s.simulator != nil && s.declared == declared {
		s.revision = revision
		return nil
	}
	repos, _, err := s.session.Repos(ctx)
	if err != nil {
		return err
	}
	sources, pasts := map[string]simulator.Source{}, []*source{}
	for name, r := range repos {
		of := &source{repo: r}
		if err := of.readPast(ctx); err != nil {
			return err
		}
		sources[name], pasts = of, append(pasts, of)
	}
	n := simulator.New(simulator.Options{Clusters: clusters, Sources: sources, IsCreator: catalog.IsCreator, Seed: 1})
	if err := relive(ctx, n, pasts); err != nil {
		return err
	}
	s.revision, s.declared, s.simulator = revision, declared, n
	return nil
}

const (
	// maxPast is how many of the newest commits new clusters go through before they get the head of the
	// base branch. A field that must not change is refused only by a cluster that knows what it was.
	maxPast = 20
	// ticksPerCommit is how long they have for each of them: to fetch, to apply the reconciler objects, to
	// apply what those name, and to become healthy.
	ticksPerCommit = 4
)

// relive lets clusters apply the past of their repositories.
func relive(ctx context.Context, n *simulator.Simulator, pasts []*source) error {
	for slices.ContainsFunc(pasts, func(s *source) bool { return len(s.past) > 0 }) {
		for range ticksPerCommit {
			if err := n.Tick(ctx); err != nil {
				return err
			}
		}
		for _, s := range pasts {
			s.past = s.past[min(1, len(s.past)):]
		}
	}
	return nil
}

// simulated returns the declared clusters, with what they are said to provide. One that a seed
// creates is left out: the simulator makes it when its creator is applied.
func simulated(c *catalog.Catalog) []simulator.Cluster {
	created := map[string]bool{}
	for _, seed := range c.Seeds {
		for _, o := range seed.Objects() {
			if catalog.IsCreator(o.ID.GroupKind()) {
				created[o.ID.Name] = true
			}
		}
	}
	var out []simulator.Cluster
	for _, name := range c.Inventory.Names() {
		cl := c.Inventory.Clusters[name]
		if created[name] {
			continue // it comes with its creator
		}
		n := simulator.Cluster{Name: name, Role: string(cl.Role), Namespaces: cl.Provides.AllNamespaces(), CRDs: provided(c, cl)}
		if cl.Hub == "" {
			root := simulator.Root{Path: prefixed(c, cl), RepoID: cl.Repo, Namespace: cl.Source.Namespace, Source: cl.Source.Name}
			n.Root = root
		} else {
			n.KubeConfig = simulator.KubeConfig{Hub: cl.Hub, Namespace: cl.KubeConfig.Namespace}
		}
		out = append(out, n)
	}
	return out
}

func prefixed(c *catalog.Catalog, cl catalog.Cluster) string {
	return strings.TrimPrefix(c.Repos[cl.Repo].Spec.Path+"/"+cl.RootPath, "/")
}

// provided returns the kinds of the seeds' objects that the cluster has by itself.
func provided(c *catalog.Catalog, cl catalog.Cluster) []manifest.GroupKind {
	kinds := map[manifest.GroupKind]bool{}
	for _, seed := range c.Seeds {
		for _, o := range seed.Objects() {
			if kind := o.ID.GroupKind(); cl.HasKind(kind) {
				kinds[kind] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), manifest.GroupKind.Compare)
}

// source is a GitOps repository as its clusters read it. They see the commits of past first, oldest first.
type source struct {
	repo *controlplane.Repo
	past []git.Hash
}

// readPast reads which commits the base branch had before.
func (s *source) readPast(ctx context.Context) error {
	refs, err := s.repo.Mirror.Fetch(ctx, s.repo.Base)
	if err != nil {
		return err
	}
	for at, known := refs[s.repo.Base]; known && len(s.past) < maxPast; {
		commit, err := s.repo.Mirror.Commit(at)
		if err != nil {
			return err
		}
		if known = len(commit.Parents) > 0; known {
			at = commit.Parents[0]
			s.past = append(s.past, at)
		}
	}
	slices.Reverse(s.past)
	return nil
}

// Head implements simulator.Source.
func (s *source) Head(ctx context.Context) (revision string, tree fs.FS, err error) {
	refs, err := s.repo.Mirror.Fetch(ctx, s.repo.Base)
	if err != nil {
		return "", nil, err
	}
	head, ok := refs[s.repo.Base]
	if !ok {
		return "", nil, fmt.Errorf("the repository has no branch %q", s.repo.Base)
	}
	if len(s.past) > 0 {
		head = s.past[0]
	}
	tree, err = s.repo.Mirror.FS(ctx, head)
	return s.repo.Base + "@sha1:" + head.String(), tree, err
}
