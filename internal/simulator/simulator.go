package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// The roles of a cluster.
const (
	RoleManagement = string(v1alpha1.RoleManagement)
	RoleWorkload   = string(v1alpha1.RoleWorkload)
)

// Options say what a simulator starts with.
type Options struct {
	// Clusters that are there from the start.
	Clusters []Cluster
	// Sources has the GitOps repositories by the RepoID of the roots.
	Sources map[string]Source
	// IsCreator says which kinds create clusters; nil means none.
	IsCreator func(manifest.GroupKind) bool
	// Seed of everything that is left to chance.
	Seed int64
	// Chaos disturbs what the Channel answers and when revisions are fetched.
	Chaos Chaos
	// CreateAfter is how many ticks a control plane takes, 3 when zero.
	CreateAfter int
	// ReadyAfter is how many ticks a workload takes to become healthy, 1 when zero.
	ReadyAfter int
	// Step is how much time a tick represents when an interval or a timeout of a
	// Kustomization is counted, 10 s when zero.
	Step time.Duration
	// CancelHealthChecks is Flux's feature gate CancelHealthCheckOnNewRevision.
	// Without it a newer revision waits until a running health check has ended.
	CancelHealthChecks bool
}

// Cluster is a simulated cluster that is there from the start.
type Cluster struct {
	Name string
	// Role is RoleManagement or RoleWorkload, the latter when empty; creators
	// work on the former only.
	Role string
	// Namespaces and CRDs that are already there.
	Namespaces []string
	CRDs       []manifest.GroupKind
	// Root of a cluster that reconciles itself; without a Path it has none.
	Root Root
	// KubeConfig says where the cluster's kubeconfig Secret lies from the start,
	// for a cluster that a hub reconciles.
	KubeConfig KubeConfig
}

// Root is the Kustomization "flux-system" that syncs a cluster's own path.
type Root struct {
	// Path in the repository, and the key of the repository in Options.Sources.
	Path, RepoID string
	// Namespace of the root and of its source, flux-system when empty.
	Namespace string
	// Source is the name of the root's GitRepository, flux-system when empty.
	Source string
}

// KubeConfig is where the Secret <cluster>-kubeconfig is.
type KubeConfig struct{ Hub, Namespace string }

// Simulator is a set of simulated clusters. mu guards everything below it; ticking keeps two ticks
// from overlapping while mu is free, because sources are asked without it. repos are by id;
// clusters, and which are silent or have faults, by name.
type Simulator struct {
	opts    Options
	ticking sync.Mutex // held for a whole tick, taken before mu

	mu         sync.Mutex
	rng        *rand.Rand
	schedule   schedule
	repos      map[string]*repo
	clusters   map[string]*cluster
	silent     map[string]bool
	faults     map[string]map[manifest.ID]fault
	rejections rejectionLog
	losses     []Loss
	answers    answers
	setup      error // what is wrong with the options
}

// New makes a simulator. Nothing happens in it before the first Tick. Options that make no sense
// are an error of every Tick. The same options and the same commits lead to the same states: all
// chance comes from the Seed.
func New(o Options) *Simulator {
	n := &Simulator{
		opts:     o,
		rng:      rand.New(rand.NewPCG(uint64(o.Seed), 0)),
		schedule: newSchedule(),
		repos:    map[string]*repo{},
		clusters: map[string]*cluster{},
		silent:   map[string]bool{},
		faults:   map[string]map[manifest.ID]fault{},
		answers:  newAnswers(),
	}
	n.opts.CreateAfter = orDefault(o.CreateAfter, 3)
	n.opts.ReadyAfter = orDefault(o.ReadyAfter, 1)
	n.opts.Step = orDefault(o.Step, 10*time.Second)
	for id, source := range o.Sources {
		n.repos[id] = newRepo(source)
	}
	for _, spec := range o.Clusters {
		spec.Role = cmp.Or(spec.Role, RoleWorkload)
		n.clusters[spec.Name] = &cluster{spec: spec, up: true}
	}
	for _, name := range slices.Sorted(maps.Keys(n.clusters)) {
		n.addDefaults(n.clusters[name])
		if root := n.clusters[name].spec.Root; root.Path != "" && n.repos[root.RepoID] == nil {
			n.setup = errors.Join(n.setup, fmt.Errorf("simulated cluster %s: its root has no source for repository %q", name, root.RepoID))
		}
	}
	return n
}

func orDefault[T int | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}

// Now returns how many ticks there have been.
func (s *Simulator) Now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.schedule.now
}

// Tick advances everything by one step. The step is done also when it returns
// an error that says which repository could not be read, or is not there; as with Flux, what
// was fetched before stays in force then. Only a context that has ended
// prevents the step.
func (s *Simulator) Tick(ctx context.Context) error {
	s.ticking.Lock()
	defer s.ticking.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	heads, err := s.readHeads(ctx)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schedule.begin()
	s.noticeHeads(heads)
	for p := range phases {
		s.runPhase(p)
	}
	s.schedule.close()
	return errors.Join(s.setup, err)
}

// runPhase runs the tasks that are ready in a phase, in their order, or, with chaos, in any.
func (s *Simulator) runPhase(p phase) {
	tasks := s.schedule.take(p)
	if s.opts.Chaos.Reorder && s.chaotic() {
		s.rng.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	}
	for _, t := range tasks {
		t.run()
	}
}

// readHeads asks every repository without holding mu: a source may be slow.
func (s *Simulator) readHeads(ctx context.Context) (map[string]*snapshot, error) {
	heads := make(map[string]*snapshot, len(s.repos))
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(s.repos)) {
		revision, tree, err := s.repos[id].source.Head(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("simulated fetch of repository %s: %w", id, err))
			continue
		}
		heads[id] = &snapshot{repo: s.repos[id], revision: revision, tree: tree, contents: map[string]*content{}}
	}
	return heads, errors.Join(errs...)
}

// noticeHeads plans fetches where a head has moved.
func (s *Simulator) noticeHeads(heads map[string]*snapshot) {
	moved := map[string]bool{}
	for id, head := range heads {
		r := s.repos[id]
		if r.head == nil || r.head.revision != head.revision {
			r.head = head
			moved[id] = true
		}
	}
	if len(moved) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		if c := s.clusters[name]; c.root != nil && moved[c.spec.Root.RepoID] {
			s.planFetch(c)
		}
	}
}
