package dependency

import (
	"cmp"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// needsOfValues lists the Secrets and ConfigMaps of a chart's namespace that the values of a HelmRelease name, by
// any field whose name says so. Charts call such fields what they like: existingSecret, auth.secretName.
func (s *surroundings) needsOfValues(v int32, o *manifest.Object) []need {
	values := o.Map("spec", "values")
	if values == nil {
		return nil
	}
	namespace := cmp.Or(o.Text("spec", "targetNamespace"), o.ID.Namespace)
	var out []need
	var walk func(field string, says manifest.GroupKind, value any)
	walk = func(field string, says manifest.GroupKind, value any) {
		switch lower := strings.ToLower(field); {
		case strings.Contains(lower, "secret"):
			says = secretKind
		case strings.Contains(lower, "configmap"):
			says = configMapKind
		}
		switch item := value.(type) {
		case map[string]any:
			for key, value := range item {
				walk(key, says, value)
			}
		case []any:
			for _, value := range item {
				walk(field, says, value)
			}
		case string:
			if says.Kind != "" && item != "" {
				id := manifest.ID{Kind: says.Kind, Namespace: namespace, Name: item}
				out = append(out, s.needsOfNamed(v, &placement.Name{ID: id, Field: "spec.values"}, ruleReferences, "its values name ")...)
			}
		}
	}
	walk("", manifest.GroupKind{}, values)
	return out
}
