package manifest

import "testing"

func TestGroupsOfKubernetesAreServed(t *testing.T) {
	for _, group := range []string{"", "apps", "networking.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "extensions"} {
		if !ServedByKubernetes(GroupKind{Group: group, Kind: "Anything"}) {
			t.Errorf("%q is not served", group)
		}
	}
	for _, group := range []string{"gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io", "example.com"} {
		if ServedByKubernetes(GroupKind{Group: group, Kind: "Gateway"}) {
			t.Errorf("%q is served by Kubernetes itself", group)
		}
	}
}

// What releases of Kubernetes announced, from their notes: the table is generated from other facts.
func TestTheTableHasWhatReleasesAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		kind    GroupKind
		version string
		first   int
		last    int // 0: none
	}{
		"Ingress left extensions in 1.22":                  {GroupKind{"extensions", "Ingress"}, "v1beta1", 0, 21},
		"Ingress is stable since 1.19":                     {GroupKind{"networking.k8s.io", "Ingress"}, "v1", 19, 0},
		"CronJob is stable since 1.21":                     {GroupKind{"batch", "CronJob"}, "v1", 21, 0},
		"CronJob left v1beta1 in 1.25":                     {GroupKind{"batch", "CronJob"}, "v1beta1", 0, 24},
		"PodSecurityPolicy was removed in 1.25":            {GroupKind{"policy", "PodSecurityPolicy"}, "v1beta1", 10, 24},
		"PodDisruptionBudget left v1beta1 in 1.25":         {GroupKind{"policy", "PodDisruptionBudget"}, "v1beta1", 0, 24},
		"autoscaling/v2beta2 was removed in 1.26":          {GroupKind{"autoscaling", "HorizontalPodAutoscaler"}, "v2beta2", 12, 25},
		"flow control left v1beta3 in 1.32":                {GroupKind{"flowcontrol.apiserver.k8s.io", "FlowSchema"}, "v1beta3", 26, 31},
		"CustomResourceDefinition left v1beta1 in 1.22":    {GroupKind{"apiextensions.k8s.io", "CustomResourceDefinition"}, "v1beta1", 0, 21},
		"APIService left v1beta1 in 1.22":                  {GroupKind{"apiregistration.k8s.io", "APIService"}, "v1beta1", 0, 21},
		"ValidatingAdmissionPolicy is stable since 1.30":   {GroupKind{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"}, "v1", 30, 0},
		"dynamic resource allocation is stable since 1.34": {GroupKind{"resource.k8s.io", "ResourceClaim"}, "v1", 34, 0},
	} {
		t.Run(name, func(t *testing.T) {
			row, _ := Served(c.kind)
			got, ok := row.Versions[c.version]
			if want := (Releases{c.first, c.last}); !ok || got.First != want.First || got.Last != want.Last && (want.Last != 0 || got.Last < SupportedReleases().Last) {
				t.Errorf("got %v, %t", got, ok)
			}
		})
	}
}

func TestEveryKindServedNowHasAResourceAndAScope(t *testing.T) {
	for group, kinds := range served().groups {
		for name, row := range kinds {
			if row.Plural == "" || row.Scope != ClusterScoped && row.Scope != Namespaced || len(row.Versions) == 0 {
				t.Errorf("%s %s: %+v", group, name, row)
			}
			if _, twice := builtinScopes()[GroupKind{group, name}]; twice {
				t.Errorf("%s %s is also in scopes.yaml", group, name)
			}
		}
	}
}

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]int{"1.31": 31, "v1.31.4": 31, "1.31.4+k3s1": 31, "v1.29+": 29, "v1.33.0-eks-1": 33, "1.9": 9} {
		if got, ok := ParseRelease(text); !ok || got != want {
			t.Errorf("%q is %d, %t; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "1", "1.", "31", "2.1", "v1.x", "1.31x", "latest", "1.-3", "1.99999999999999999999"} {
		if got, ok := ParseRelease(text); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func TestTablesThatAreNotTables(t *testing.T) {
	for name, text := range map[string]string{
		"no range":         "supported: 1.25\n",
		"no release":       "supported: a..b\n",
		"no range in it":   "supported: 1.25..1.30\ngroups: {apps: {Deployment: {plural: a, scope: Cluster, versions: {v1: 1.2}}}}\n",
		"an unknown field": "supported: 1.25..1.30\nkinds: {}\n",
	} {
		if _, err := readServed([]byte(text)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}
