package dependency

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var unknown = Rule{
	Name: ruleUnknown,
	Doc: "A custom resource of a kind that nothing is known to install waits for the installers of its seed whose content is unknown, unless they need it. " +
		"Charts count only for kinds that no table knows.",
	Why:       "If one of them installs it, a reconciler refuses the whole tier that both share, the installer included.",
	OrderOnly: true,
	Once:      true,
	Phase:     Ordered,
	Draw: func(w *World) {
		in := w.installations()
		if len(in.unknown) == 0 {
			return
		}
		needs := map[int32]map[int32]bool{} // of each installer
		for kind, sources := range w.ByKind {
			if manifest.ServedByKubernetes(kind) || installs.IsInstaller(kind) || strings.HasSuffix(kind.Group, fluxGroup) {
				continue
			}
			known := installs.IsKnown(kind) || makes.IsKnown(kind)
			for v, o := range sources {
				if !w.isUnknown(v, o) {
					continue
				}
				for _, to := range in.unknown[w.Cluster(v).Name] {
					id := w.ID(to)
					if w.graph.vertices[to].seed != w.graph.vertices[v].seed || id.Group == kind.Group || known && id.Kind != "Kustomization" {
						continue
					}
					if needs[to] == nil {
						needs[to] = w.NeedsToBeReady(to)
					}
					if !needs[to][v] {
						w.Wait(v, to, Reason{Field: "kind", Why: fmt.Sprintf("kind: %s (nothing is known to install it, and that may)", kind)})
					}
				}
			}
		}
	},
}

const ruleUnknown = "unknown"

// fluxGroup ends the groups of the kinds that Flux itself acts on: the reconciler brings them.
const fluxGroup = ".toolkit.fluxcd.io"
