package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/window"
)

// RestWave is the name of the wave that the clusters form which no other wave selects.
const RestWave = "rest"

// groupings are the values of groupBy.
var groupings = []v1alpha1.GroupBy{v1alpha1.GroupByTier, v1alpha1.GroupByLevel, v1alpha1.GroupByCluster, v1alpha1.GroupBySeed}

// PaceOf returns the pace of a seed: what it sets itself, and for the rest what the policy that it
// names says.
func (c *Catalog) PaceOf(seed *Seed) (v1alpha1.Pace, error) {
	spec := seed.Spec.Rollout
	if spec == nil {
		return v1alpha1.Pace{}, nil
	}
	wrong := manifest.Problem{Seed: seed.Name, Source: seed.SpecAt, Object: "Seed " + quote(seed.Name)}
	if field, why, next := paceFault(spec.Pace); field != "" {
		wrong.Reason, wrong.Field, wrong.Next = v1alpha1.ReasonInvalidField, "spec.rollout."+field, next
		wrong.Source, wrong.Message = seed.At(wrong.Field), wrong.Field+" "+why
		return v1alpha1.Pace{}, wrong
	}
	pace := spec.Pace
	if spec.Policy == "" {
		return pace, nil
	}
	policy, known := c.Policies[spec.Policy]
	if !known {
		wrong.Reason, wrong.Field, wrong.Next = v1alpha1.ReasonUnknownRolloutPolicy, "spec.rollout.policy", "Declare it, or correct the name."
		wrong.Message = cmp.Or(c.Inventory.faults.of("RolloutPolicy", spec.Policy), fmt.Sprintf("there is no RolloutPolicy %q", spec.Policy))
		return v1alpha1.Pace{}, wrong
	}
	pace.GroupBy, pace.MaxOpenProposals = cmp.Or(pace.GroupBy, policy.Spec.GroupBy), cmp.Or(pace.MaxOpenProposals, policy.Spec.MaxOpenProposals)
	pace.AutoMerge = cmp.Or(pace.AutoMerge, policy.Spec.AutoMerge)
	if pace.Waves == nil {
		pace.Waves = policy.Spec.Waves
	}
	return pace, nil
}

// checkPolicies checks what rollout policies say.
func (d *documents) checkPolicies() {
	for _, name := range slices.Sorted(maps.Keys(d.policies)) {
		if field, why, next := paceFault(d.policies[name].Spec.Pace); field != "" {
			d.report(v1alpha1.ReasonInvalidField, "RolloutPolicy", name, "spec."+field, "spec."+field+" "+why, next)
		}
	}
}

// paceFault returns the first field of a pace that cannot be used, a text that follows its name,
// and what to do; empty where all can.
func paceFault(r v1alpha1.Pace) (field, why, next string) {
	if r.GroupBy != "" && !slices.Contains(groupings, r.GroupBy) {
		return "groupBy", fmt.Sprintf("%q is unknown", r.GroupBy), "Write Tier, Level, Cluster or Seed."
	}
	if r.MaxOpenProposals != nil && *r.MaxOpenProposals < 1 {
		return "maxOpenProposals", fmt.Sprintf("is %d, and nothing could be proposed", *r.MaxOpenProposals), "Write a number from 1; or remove the field, and any number may be open."
	}
	if r.AutoMerge != "" && r.AutoMerge != v1alpha1.AutoMergeNever && r.AutoMerge != v1alpha1.AutoMergeWhenGreen {
		return "autoMerge", fmt.Sprintf("%q is unknown", r.AutoMerge), "Write Never or WhenGreen."
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

// waveFault is paceFault of one wave.
func waveFault(w *v1alpha1.RolloutWave) (field, why, next string) {
	if len(validation.IsDNS1123Label(w.Name)) > 0 {
		return "name", fmt.Sprintf("%q is not a valid DNS label", w.Name), "Write lower case letters, digits, and '-' in between."
	}
	if w.Name == RestWave && w.ClusterSelector != nil {
		return "name", "\"rest\" is the wave of the clusters that no other wave selects, so it can have no clusterSelector", "Give the wave another name."
	}
	if _, err := SelectorOf(w.ClusterSelector); err != nil {
		return "clusterSelector", "cannot be used: " + err.Error(), "Correct the selector."
	}
	if w.MaxUnavailable != nil {
		if _, ok := MaxUnavailable(w.MaxUnavailable, 100); !ok {
			return "maxUnavailable", fmt.Sprintf("%q is neither a number from 1 nor a percentage", w.MaxUnavailable.String()), "Write a number, or a percentage as \"25%\"."
		}
	}
	if w.Soak != nil && w.Soak.Duration < 0 {
		return "soak", "is negative", "Write a duration, as 24h."
	}
	for i, one := range w.Windows {
		if field, why := Window(one).Fault(); field != "" {
			return fmt.Sprintf("windows[%d].%s", i, field), why, "Correct the window."
		}
	}
	return "", "", ""
}

// Window returns the window of a document.
func Window(w v1alpha1.RolloutWindow) window.Window {
	return window.Window{Days: w.Days, From: w.From, To: w.To, TimeZone: w.TimeZone, Holidays: w.Holidays}
}

// MaxUnavailable returns how many of some clusters may be under way: at least one.
func MaxUnavailable(most *intstr.IntOrString, of int) (int, bool) {
	if most.Type == intstr.Int {
		return most.IntValue(), most.IntValue() >= 1
	}
	number, isPercent := strings.CutSuffix(most.StrVal, "%")
	percent, err := strconv.Atoi(number)
	return max(1, of*percent/100), isPercent && err == nil && percent >= 1 && percent <= 100
}
