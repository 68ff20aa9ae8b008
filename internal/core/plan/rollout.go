package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/window"
)

// Rollout is the pace of a seed: that of its document, with the clusters of each wave. A plan has
// it because a removed seed has no document.
type Rollout struct {
	Waves []Wave `yaml:"waves,omitempty"`
	// MaxOpenProposals is how many proposals of the seed may be open in one repository; zero for any number.
	MaxOpenProposals int `yaml:"maxOpenProposals,omitempty"`
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
const RestWave = "rest"

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

// rolloutFault returns the first field of a rollout that cannot be used, a text that follows its name,
// and what to do; empty where all can.
func rolloutFault(r *v1alpha1.Rollout) (field, why, next string) {
	if r == nil {
		return "", "", ""
	}
	if r.GroupBy != "" && !slices.Contains(groupings, r.GroupBy) {
		return "groupBy", fmt.Sprintf("%q is unknown", r.GroupBy), "Write Tier, Level, Cluster or Seed."
	}
	if r.MaxOpenProposals < 0 {
		return "maxOpenProposals", fmt.Sprintf("%d is negative", r.MaxOpenProposals), "Write a number from 1, or remove the field."
	}
	names := map[string]bool{}
	others := ""
	for i := range r.Waves {
		w := &r.Waves[i]
		if field, why, next := waveFault(w); field != "" {
			return fmt.Sprintf("waves[%d].%s", i, field), why, next
		}
		if names[w.Name] {
			return fmt.Sprintf("waves[%d].name", i), fmt.Sprintf("%q is the name of two waves", w.Name), "Give each wave a name of its own."
		}
		names[w.Name] = true
		if w.ClusterSelector == nil {
			if others != "" {
				return fmt.Sprintf("waves[%d].clusterSelector", i), fmt.Sprintf("is missing from waves %q and %q, which would both have all other clusters", others, w.Name), "Give one of them a clusterSelector."
			}
			others = w.Name
		}
	}
	return "", "", ""
}

// waveFault is rolloutFault of one wave.
func waveFault(w *v1alpha1.RolloutWave) (field, why, next string) {
	if len(validation.IsDNS1123Label(w.Name)) > 0 {
		return "name", fmt.Sprintf("%q is not a valid DNS label", w.Name), "Write lower case letters, digits, and '-' in between."
	}
	if w.Name == RestWave && w.ClusterSelector != nil {
		return "name", "\"rest\" is the wave of the clusters that no other wave selects, so it can have no clusterSelector", "Give the wave another name."
	}
	if _, err := catalog.SelectorOf(w.ClusterSelector); err != nil {
		return "clusterSelector", "cannot be used: " + err.Error(), "Correct the selector."
	}
	if w.MaxUnavailable != nil {
		if _, ok := maxUnavailable(w.MaxUnavailable, 100); !ok {
			return "maxUnavailable", fmt.Sprintf("%q is neither a number from 1 nor a percentage", w.MaxUnavailable.String()), "Write a number, or a percentage as \"25%\"."
		}
	}
	if w.Soak != nil && w.Soak.Duration < 0 {
		return "soak", "is negative", "Write a duration, as 24h."
	}
	for i, one := range w.Windows {
		if field, why := windowOf(one).Fault(); field != "" {
			return fmt.Sprintf("windows[%d].%s", i, field), why, "Correct the window."
		}
	}
	return "", "", ""
}

func windowOf(w v1alpha1.RolloutWindow) window.Window {
	return window.Window{Days: w.Days, From: w.From, To: w.To, TimeZone: w.TimeZone, Holidays: w.Holidays}
}

// maxUnavailable returns how many of some clusters may be under way: at least one.
func maxUnavailable(most *intstr.IntOrString, of int) (int, bool) {
	if most.Type == intstr.Int {
		return most.IntValue(), most.IntValue() >= 1
	}
	number, isPercent := strings.CutSuffix(most.StrVal, "%")
	percent, err := strconv.Atoi(number)
	return max(1, of*percent/100), isPercent && err == nil && percent >= 1 && percent <= 100
}

// rollout resolves the pace of the seed: which clusters of the plan are in which wave. A cluster is in
// the first wave that selects it, and what no wave selects is in the one without a selector, or after
// all.
func (a *assembly) rollout() *Rollout {
	spec := a.seed.Spec.Rollout
	if spec == nil || len(spec.Waves) == 0 && spec.MaxOpenProposals == 0 {
		return nil
	}
	out := &Rollout{MaxOpenProposals: int(spec.MaxOpenProposals)}
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
			wave.MaxUnavailable, _ = maxUnavailable(w.MaxUnavailable, len(in[i]))
		}
		if w.Soak != nil {
			wave.Soak = w.Soak.Duration
		}
		for _, one := range w.Windows {
			wave.Windows = append(wave.Windows, windowOf(one))
		}
		out.Waves = append(out.Waves, wave)
	}
	return out
}
