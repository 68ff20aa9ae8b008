package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/window"
)

// Rollout is the pace of a seed: that of its document, with the clusters of each wave. A plan has
// it because a removed seed has no document.
type Rollout struct {
	Waves []Wave `yaml:"waves,omitempty"`
	// MaxOpenProposals is how many proposals of the seed may be open in one repository; zero for any number.
	MaxOpenProposals int `yaml:"maxOpenProposals,omitempty"`
	// AutoMerge reports whether Furrow merges proposals whose checks have passed.
	AutoMerge bool `yaml:"autoMerge,omitempty"`
}

// Wave is some of the clusters, which come after those of the waves before it.
type Wave struct {
	Name     string   `yaml:"name"`
	Clusters []string `yaml:"clusters,omitempty,flow"`
	// MaxUnavailable is how many clusters may be under way at once; zero for any number.
	MaxUnavailable int `yaml:"maxUnavailable,omitempty"`
	// Soak is how long the wave must have been released before the next one opens.
	Soak    time.Duration   `yaml:"soak,omitempty"`
	Windows []window.Window `yaml:"windows,omitempty"`
}

// RestWave is the name of the wave that the clusters form which no other wave has.
const RestWave = catalog.RestWave

// WaveOf returns the index of a cluster's wave; the number of waves where it has none.
func (r *Rollout) WaveOf(cluster string) int {
	i := slices.IndexFunc(r.Waves, func(w Wave) bool {
		_, found := slices.BinarySearch(w.Clusters, cluster)
		return found
	})
	if i < 0 {
		return len(r.Waves)
	}
	return i
}

// AllWaves returns the waves; none of nil.
func (r *Rollout) AllWaves() []Wave {
	if r == nil {
		return nil
	}
	return r.Waves
}

// Windows returns those of all waves.
func (r *Rollout) Windows() []window.Window {
	var out []window.Window
	for _, w := range r.AllWaves() {
		out = append(out, w.Windows...)
	}
	return out
}

// holdIfWaveIsUnknown keeps a seed as it is while the document of a cluster cannot be used for which
// others wait, or may wait. The cluster has no labels then, and stays as it was last planned: the
// others would go at once, without anybody having tried the change there.
func (a *assembly) holdIfWaveIsUnknown() error {
	if len(a.pace.Waves) == 0 || len(a.broken) == 0 {
		return nil
	}
	last, was := -1, a.previous.Plan.Rollout
	for i := range a.previous.Plan.Tiers {
		if was != nil {
			last = max(last, was.WaveOf(a.previous.Plan.Tiers[i].Cluster))
		}
	}
	for _, t := range a.plan.Tiers {
		why := a.broken[t.Cluster]
		if why == "" || len(was.AllWaves()) > 0 && was.WaveOf(t.Cluster) == last {
			continue
		}
		return manifest.OfSeed(v1alpha1.ReasonBrokenDocument, a.seed.Name, fmt.Sprintf("the wave of cluster %s is unknown, and others may wait for it: %s", t.Cluster, why), "Correct that document.").WithCluster(t.Cluster)
	}
	return nil
}

// emptyWaves warns of waves without a cluster: nobody waits for them.
func (a *assembly) emptyWaves() []Warning {
	var out []Warning
	for i, w := range a.plan.Rollout.AllWaves() {
		if len(w.Clusters) > 0 {
			continue
		}
		message := fmt.Sprintf("wave %q selects no cluster of the seed, so nothing waits for it. Label a cluster, or change the selector.", w.Name)
		if earlier := a.takenBefore(i); len(earlier) > 0 {
			message = fmt.Sprintf("wave %q is empty, so nothing waits for it: a cluster belongs to the first wave that selects it, and all of this one are in %s. Change one of the selectors, or remove the wave.", w.Name, strings.Join(quoteAll("wave", earlier), ", "))
		}
		out = append(out, Warning{Reason: v1alpha1.ReasonNoClusterMatches, Object: fmt.Sprintf("seed %q", a.seed.Name), Message: message})
	}
	return out
}

// takenBefore returns the waves that have the clusters which an empty wave selects. One without a
// selector takes what the others leave.
func (a *assembly) takenBefore(wave int) []string {
	selector, _ := catalog.SelectorOf(a.pace.Waves[wave].ClusterSelector) // checked before
	var names []string
	for i, w := range a.plan.Rollout.Waves {
		takes := func(cluster string) bool {
			return selector == nil || i < wave && selector.Matches(labels.Set(a.inventory.Clusters[cluster].Labels))
		}
		if slices.ContainsFunc(w.Clusters, takes) {
			names = append(names, w.Name)
		}
	}
	return names
}

// ignoredAutoMerge warns where nothing is merged although the seed asks for it.
func (a *assembly) ignoredAutoMerge() []Warning {
	if a.plan.Rollout == nil || !a.plan.Rollout.AutoMerge {
		return nil
	}
	var out []Warning
	for _, repo := range a.plan.Repos() {
		if r, declared := a.in.Catalog.Repos[repo]; declared && r.Spec.ForgeOrDefault() == v1alpha1.ForgePlain {
			out = append(out, Warning{Reason: v1alpha1.ReasonAutoMergeIgnored, Object: fmt.Sprintf("seed %q", a.seed.Name),
				Message: fmt.Sprintf("autoMerge: WhenGreen merges nothing in GitOps repository %q, which is plain Git and has no checks. Merge with 'furrow pr merge', or name the repository's forge in spec.forge.", repo)})
		}
	}
	return out
}

// rollout resolves the pace of the seed: which clusters of the plan are in which wave. A cluster is in
// the first wave that selects it, and what no wave selects is in the one without a selector, or after
// all.
func (a *assembly) rollout() *Rollout {
	spec := a.pace
	out := &Rollout{MaxOpenProposals: int(ptr.Deref(spec.MaxOpenProposals, 0)), AutoMerge: spec.AutoMerge == v1alpha1.AutoMergeWhenGreen}
	if len(spec.Waves) == 0 && out.MaxOpenProposals == 0 && !out.AutoMerge {
		return nil
	}
	clusters := map[string]bool{}
	for i := range a.plan.Tiers {
		clusters[a.plan.Tiers[i].Cluster] = true
	}
	if len(spec.Waves) == 0 {
		return out
	}
	in, rest := make([][]string, len(spec.Waves)), -1
	selectors := make([]labels.Selector, len(spec.Waves))
	for i, w := range spec.Waves {
		selectors[i], _ = catalog.SelectorOf(w.ClusterSelector) // checked before
		if w.ClusterSelector == nil {
			rest = i
		}
	}
	for _, name := range sortedKeys(clusters) {
		of := labels.Set(a.inventory.Clusters[name].Labels)
		at := slices.IndexFunc(selectors, func(s labels.Selector) bool { return s != nil && s.Matches(of) })
		if at < 0 {
			at = rest
		}
		if at >= 0 {
			in[at] = append(in[at], name)
		}
	}
	for i, w := range spec.Waves {
		wave := Wave{Name: w.Name, Clusters: in[i]}
		if w.MaxUnavailable != nil {
			wave.MaxUnavailable, _ = catalog.MaxUnavailable(w.MaxUnavailable, len(in[i]))
		}
		if w.Soak != nil {
			wave.Soak = w.Soak.Duration
		}
		for _, one := range w.Windows {
			wave.Windows = append(wave.Windows, catalog.Window(one))
		}
		out.Waves = append(out.Waves, wave)
	}
	return out
}
