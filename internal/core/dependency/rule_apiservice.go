package dependency

import "github.com/furrow-dev/furrow/internal/core/manifest"

var apiservice = Rule{
	Name:  "apiservice",
	Doc:   "An object of an aggregated API waits for its APIService, until that is available, and for the workload behind it.",
	Why:   "An API server rejects an object of a kind that no backend serves yet.",
	Once:  true,
	Phase: Backends,
	Draw: func(w *World) {
		services := aggregatedBy(w)
		if len(services) == 0 {
			return
		}
		s := w.surroundings()
		for v, o := range w.Sources {
			to, ok := w.Nearest(v, services[groupVersion{o.ID.Group, o.Version}])
			if !ok || w.leaving[to] {
				continue
			}
			why := "apiVersion: " + o.APIVersion() + " is served behind it"
			w.Wait(v, to, Reason{Field: "apiVersion", Why: why, Ready: "status.conditions.exists(c, c.type == 'Available' && c.status == 'True')"})
			for _, backend := range s.behind(to, w.content[to].Map("spec", "service")) {
				w.Wait(v, backend, Reason{Field: "apiVersion", Why: why})
			}
		}
	},
}

// groupVersion is what an APIService serves.
type groupVersion struct{ group, version string }

// aggregatedBy lists the APIServices of seeds by what they serve.
func aggregatedBy(w *World) map[groupVersion][]int32 {
	services := map[groupVersion][]int32{}
	for v, o := range w.VerticesOf(apiServiceKind) {
		if isAPIService(o) {
			key := groupVersion{o.Text("spec", "group"), o.Text("spec", "version")}
			services[key] = append(services[key], v)
		}
	}
	for _, list := range services {
		w.Sort(list)
	}
	return services
}

// isAPIService reports whether an object registers an API that is served behind a Service.
func isAPIService(o *manifest.Object) bool {
	return o.ID.GroupKind() == apiServiceKind && o.Map("spec", "service") != nil
}

var apiServiceKind = manifest.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
