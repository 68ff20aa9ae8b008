package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// change is the creation or the update of a resource, and the API server's response.
type change struct {
	kind string
	// name defaults to "thing".
	name string
	// from is the YAML of the old spec; empty for a creation, "none" for a resource without a spec.
	from string
	// to is the YAML of the new spec.
	to string
	// want is part of the error message; empty if the change is accepted.
	want string
}

const (
	dnsLabelOf = " is a DNS label of at most 63 characters"
	noRoot     = "objects would lose their owner"
	otherRepo  = "Declare another GitOpsRepo"
	otherSeed  = "cannot be changed: the plan belongs to the control plane that made it. Make another Seed"
	onServers  = "url is the https or ssh URL of a repository, without credentials in it; name those in credentials"
	source     = "{source: {url: 'https://git.example.com/a'}}"
)

var commit = strings.Repeat("0123456789", 4)

var changes = map[string]change{
	"a cluster needs no spec at all":                      {kind: "Cluster"},
	"a cluster's name has no dots":                        {kind: "Cluster", name: "a.b", want: "the name of a cluster" + dnsLabelOf},
	"a cluster's name is not longer than a DNS label":     {kind: "Cluster", name: strings.Repeat("a", 64), want: "the name of a cluster" + dnsLabelOf},
	"a cluster's name may be as long as a DNS label":      {kind: "Cluster", name: strings.Repeat("a", 63)},
	"an unknown role is refused":                          {kind: "Cluster", to: "{role: Edge}", want: `Unsupported value: "Edge"`},
	"a hub cannot be added":                               {kind: "Cluster", from: "{type: a}", to: "{type: a, reconciledBy: hub}", want: noRoot},
	"a hub cannot be removed":                             {kind: "Cluster", from: "{reconciledBy: hub}", to: "{type: a}", want: noRoot},
	"a hub cannot be changed":                             {kind: "Cluster", from: "{reconciledBy: hub}", to: "{reconciledBy: bub}", want: noRoot},
	"other fields of a cluster with a hub can be changed": {kind: "Cluster", from: "{reconciledBy: hub}", to: "{reconciledBy: hub, role: Management}"},
	"a hub cannot be added with the spec":                 {kind: "Cluster", from: "none", to: "{reconciledBy: hub}", want: noRoot},
	"a hub cannot be removed with the spec":               {kind: "Cluster", from: "{reconciledBy: hub}", to: "none", want: noRoot},
	"a path cannot be added with the spec":                {kind: "Cluster", from: "none", to: "{path: a}", want: "path cannot be changed: the cluster's root syncs it"},
	"a path cannot be removed with the spec":              {kind: "Cluster", from: "{path: a}", to: "none", want: "path cannot be changed: the cluster's root syncs it"},
	"a spec may be added later":                           {kind: "Cluster", from: "none", to: "{role: Management}"},
	"a spec may be removed":                               {kind: "Cluster", from: "{role: Management}", to: "none"},
	"a hub is named by a DNS label":                       {kind: "Cluster", to: "{reconciledBy: Hub}", want: "spec.reconciledBy"},
	"the path cannot be changed":                          {kind: "Cluster", from: "{path: a}", to: "{path: b}", want: "path cannot be changed: the cluster's root syncs it"},
	"a path cannot be added":                              {kind: "Cluster", from: "{type: a}", to: "{path: b}", want: "path cannot be changed: the cluster's root syncs it"},
	"a workload cluster has no default type":              {kind: "Cluster", to: "{defaultClusterType: a}", want: "defaultClusterType is for clusters of role Management"},
	"a management cluster has a default type":             {kind: "Cluster", to: "{defaultClusterType: a, role: Management}"},
	"a kubeconfig is for a hub":                           {kind: "Cluster", to: "{kubeConfigSecret: {name: a}}", want: "kubeConfigSecret is for clusters with a hub; name it in reconciledBy"},
	"a cluster with a hub may have a kubeconfig":          {kind: "Cluster", to: "{kubeConfigSecret: {name: a}, reconciledBy: hub}"},
	"a namespace is listed once in provides":              {kind: "Cluster", to: "{provides: {namespaces: [a, a]}}", want: "duplicate entries"},
	"fields that do not exist are refused":                {kind: "Cluster", to: "{paths: a}", want: "field not declared in schema"},
	"a cluster type needs no spec":                        {kind: "ClusterType"},
	"a cluster type's name has no dots":                   {kind: "ClusterType", name: "a.b", want: "the name of a cluster type" + dnsLabelOf},
	"Flux is the only reconciler":                         {kind: "ClusterType", to: "{reconciler: ArgoCD}", want: `Unsupported value: "ArgoCD"`},
	"decryption needs a provider":                         {kind: "ClusterType", to: "{decryption: {secretName: a}}", want: "spec.decryption.provider: Required value"},
	"sops is the only provider of decryption":             {kind: "ClusterType", to: "{decryption: {provider: pgp}}", want: `Unsupported value: "pgp"`},
	"all fields of a cluster type may change":             {kind: "ClusterType", from: "{gitOpsRepo: a}", to: "{reconciler: Flux, decryption: {provider: sops}, gitOpsRepo: b}"},
	"a repository needs a URL":                            {kind: "GitOpsRepo", to: "{branch: main}", want: "spec.url: Required value"},
	"a repository with a URL is valid":                    {kind: "GitOpsRepo", to: "{url: 'https://git.example.com/a.git'}"},
	"a repository's name has no dots":                     {kind: "GitOpsRepo", name: "a.b", to: "{url: 'https://git.example.com'}", want: "the name of a GitOps repository" + dnsLabelOf},
	"a repository's URL has no credentials":               {kind: "GitOpsRepo", to: "{url: 'https://me:secret@git.example.com/a'}", want: onServers},
	"a repository's URL may use SSH":                      {kind: "GitOpsRepo", to: "{url: 'ssh://git@git.example.com:2222/a.git'}"},
	"a user is not needed for SSH":                        {kind: "GitOpsRepo", to: "{url: 'ssh://git.example.com/a.git'}"},
	"a URL of SSH has no password":                        {kind: "GitOpsRepo", to: "{url: 'ssh://git:secret@git.example.com/a'}", want: onServers},
	"a repository's URL may be the short form of SSH":     {kind: "GitOpsRepo", to: "{url: 'git@git.example.com:a.git'}"},
	"the short form of SSH has no password":               {kind: "GitOpsRepo", to: "{url: 'git:secret@git.example.com:a.git'}", want: onServers},
	"a repository's URL is not a local path":              {kind: "GitOpsRepo", to: "{url: '/srv/a'}", want: onServers},
	"an @ in the path is fine":                            {kind: "GitOpsRepo", to: "{url: 'https://git.example.com/@me/a'}"},
	"a repository's URL may change":                       {kind: "GitOpsRepo", from: "{url: 'https://git.example.com/a'}", to: "{url: 'https://git.example.org/a'}"},
	"the base branch cannot be changed":                   {kind: "GitOpsRepo", from: "{url: 'https://git.example.com/a', branch: a}", to: "{url: 'https://git.example.com/a', branch: b}", want: "branch cannot be changed: what is planted is known by it. " + otherRepo},
	"the default branch may be made explicit":             {kind: "GitOpsRepo", from: "{url: 'https://git.example.com/a'}", to: "{url: 'https://git.example.com/a', branch: main}"},
	"the prefix cannot be changed":                        {kind: "GitOpsRepo", from: "{url: 'https://git.example.com/a'}", to: "{url: 'https://git.example.com/a', path: b}", want: "path cannot be changed: what is planted lies below it. " + otherRepo},
	"an unknown forge is refused":                         {kind: "GitOpsRepo", to: "{url: 'https://git.example.com/a', forge: Hub}", want: `Unsupported value: "Hub"`},
	"an unknown update policy is refused":                 {kind: "GitOpsRepo", to: "{url: 'https://git.example.com/a', update: Never}", want: `Unsupported value: "Never"`},
	"a rollout policy has waves":                          {kind: "RolloutPolicy", to: "{waves: [{name: canary, clusterSelector: {matchLabels: {stage: canary}}, soak: 1h30m, maxUnavailable: 25%}, {name: fleet, maxUnavailable: 3, windows: [{days: [Mon], from: '09:00', to: '24:00', timeZone: Europe/Berlin, holidays: ['2026-12-24']}]}], maxOpenProposals: 3}"},
	"a rollout policy's name has no dots":                 {kind: "RolloutPolicy", name: "a.b", to: "{groupBy: Level}", want: "the name of a rollout policy" + dnsLabelOf},
	"the name of a wave has no dots":                      {kind: "RolloutPolicy", to: "{waves: [{name: a.b}]}", want: "spec.waves[0].name"},
	"two waves of one name are refused":                   {kind: "RolloutPolicy", to: "{waves: [{name: a}, {name: a}]}", want: "duplicate entries"},
	"no percent of clusters is refused":                   {kind: "RolloutPolicy", to: "{waves: [{name: a, maxUnavailable: 0%}]}", want: "spec.waves[0].maxUnavailable"},
	"a negative soak is refused":                          {kind: "RolloutPolicy", to: "{waves: [{name: a, soak: -1h}]}", want: "spec.waves[0].soak"},
	"a day that there is not is refused":                  {kind: "RolloutPolicy", to: "{waves: [{name: a, windows: [{days: [Monday]}]}]}", want: "spec.waves[0].windows[0].days[0]"},
	"a time of day without zeros is refused":              {kind: "RolloutPolicy", to: "{waves: [{name: a, windows: [{from: '9:00', to: '16:00'}]}]}", want: "spec.waves[0].windows[0].from"},
	"a template has a type and a text":                    {kind: "Template", to: "{type: Reconciler, text: a}"},
	"a template's name has no dots":                       {kind: "Template", name: "a.b", to: "{type: Reconciler, text: a}", want: "the name of a template" + dnsLabelOf},
	"a template of proposals has a fixed name":            {kind: "Template", to: "{type: Proposal, text: a}", want: "a Template of type Proposal is used when it is named proposal"},
	"a template of proposals with that name is valid":     {kind: "Template", name: "proposal", to: "{type: Proposal, text: a}"},
	"an empty text is refused":                            {kind: "Template", to: "{type: Reconciler, text: ''}", want: "spec.text"},
	"a template's type cannot be changed":                 {kind: "Template", name: "proposal", from: "{type: Proposal, text: a}", to: "{type: Reconciler, text: a}", want: "type cannot be changed: make another Template"},
	"a template's text may change":                        {kind: "Template", from: "{type: Reconciler, text: a}", to: "{type: Reconciler, text: b}"},
	"a planting's name has a dot":                         {kind: "Planting", name: "a.b", to: "{seed: a, cluster: b}"},
	"a planting's spec cannot be changed":                 {kind: "Planting", name: "a.b", from: "{seed: a, cluster: b}", to: "{seed: a, cluster: c}", want: "a planting is of one seed and one cluster for good"},
	"a planting needs seed and cluster":                   {kind: "Planting", name: "a.b", to: "{seed: a}", want: "spec.cluster: Required value"},
	"a seed with a source is valid":                       {kind: "Seed", to: source},
	"a seed's name has no dots":                           {kind: "Seed", name: "a.b", to: source, want: "the name of a seed" + dnsLabelOf},
	"a seed needs a spec":                                 {kind: "Seed", want: "spec.source is missing: say which repository holds the control-plane tree with the seed"},
	"a seed needs a source":                               {kind: "Seed", to: "{suspend: true}", want: "spec.source is missing"},
	"a source cannot be removed":                          {kind: "Seed", from: source, to: "{suspend: true}", want: "source cannot be taken out"},
	"a source needs url or gitRepositoryRef":              {kind: "Seed", to: "{source: {path: a}}", want: "give either url or gitRepositoryRef"},
	"a source has only one of url and gitRepositoryRef":   {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', gitRepositoryRef: {name: a}}}", want: "give either url or gitRepositoryRef"},
	"a source may have a gitRepositoryRef":                {kind: "Seed", to: "{source: {gitRepositoryRef: {name: a}}}"},
	"a source with a gitRepositoryRef has no credentials": {kind: "Seed", to: "{source: {gitRepositoryRef: {name: a}, credentials: b}}", want: "with gitRepositoryRef, the credentials are those of the GitRepository"},
	"a source with a URL may have credentials":            {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', credentials: b}}"},
	"a source's URL has no credentials":                   {kind: "Seed", to: "{source: {url: 'https://me@git.example.com/a'}}", want: onServers},
	"a source's URL cannot be changed":                    {kind: "Seed", from: source, to: "{source: {url: 'https://git.example.com/b'}}", want: "source.url " + otherSeed},
	"a URL cannot be replaced by a gitRepositoryRef":      {kind: "Seed", from: source, to: "{source: {gitRepositoryRef: {name: a}}}", want: "source.url " + otherSeed},
	"a gitRepositoryRef cannot be changed":                {kind: "Seed", from: "{source: {gitRepositoryRef: {name: a}}}", to: "{source: {gitRepositoryRef: {name: b}}}", want: "source.gitRepositoryRef " + otherSeed},
	"a source's path cannot be changed":                   {kind: "Seed", from: source, to: "{source: {url: 'https://git.example.com/a', path: b}}", want: "source.path " + otherSeed},
	"a source's path is inside the repository":            {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', path: ../b}}", want: "path is a directory inside the repository, without '..'"},
	"a source's path is relative":                         {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', path: /b}}", want: "path is a directory inside the repository, without '..'"},
	"a source's branch cannot be changed":                 {kind: "Seed", from: "{source: {url: 'https://git.example.com/a', revision: a}}", to: "{source: {url: 'https://git.example.com/a', revision: b}}", want: "the branch in source.revision " + otherSeed},
	"a source may be pinned to a commit of its branch":    {kind: "Seed", from: "{source: {url: 'https://git.example.com/a', revision: a}}", to: "{source: {url: 'https://git.example.com/a', revision: 'a@sha1:" + commit + "'}}"},
	"an abbreviated commit is refused":                    {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', revision: 'a@sha1:0123'}}", want: "spec.source.revision"},
	"a source's credentials may change":                   {kind: "Seed", from: source, to: "{source: {url: 'https://git.example.com/a', credentials: b}}"},
	"a deletionTimeout below a second is refused":         {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, deletionTimeout: 10ms}", want: "deletionTimeout must be at least 1s"},
	"a deletionTimeout of a second is valid":              {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, deletionTimeout: 1s}"},
	"an unknown deletion policy is refused":               {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, deletionPolicy: Forget}", want: `Unsupported value: "Forget"`},
	"the deletion policy may change":                      {kind: "Seed", from: source, to: "{source: {url: 'https://git.example.com/a'}, deletionPolicy: Orphan}"},
	"an unknown policy of plain Secrets is refused":       {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, plainSecrets: Hide}", want: `Unsupported value: "Hide"`},
	"an override merges":                                  {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, overrides: [{name: o, target: {kind: Deployment}, strategicMerge: {spec: {replicas: 5}}}]}"},
	"an override has operations":                          {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, overrides: [{name: o, target: {kind: Deployment}, jsonPatch: [{op: remove, path: /spec/replicas}]}]}"},
	"an override needs a patch":                           {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, overrides: [{name: o, target: {kind: Deployment}}]}", want: "give either strategicMerge or jsonPatch"},
	"an override has only one of two patches":             {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, overrides: [{name: o, target: {kind: Deployment}, strategicMerge: {spec: {replicas: 5}}, jsonPatch: [{op: remove, path: /spec/replicas}]}]}", want: "give either strategicMerge or jsonPatch"},
	"an override is not for all objects":                  {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, overrides: [{name: o, target: {}, strategicMerge: {spec: {replicas: 5}}}]}", want: "should have at least 1 properties"},
	"a disabled rule is listed once":                      {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, disabledRules: [a, a]}", want: "duplicate entries"},
	"disabled rules are at most 32":                       {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, disabledRules: [" + countTo(33) + "]}", want: "must have at most 32 items"},
}

// countTo returns n different words.
func countTo(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("r%d", i)
	}
	return strings.Join(words, ", ")
}

func TestTheCRDsRefuseInvalidResources(t *testing.T) {
	servers.Need(t, servers.ForCluster...)
	cluster := startCluster(t, "rules")
	cluster.apply(t, crds(t))
	number := 0
	for name, tc := range changes {
		number++
		in := fmt.Sprintf("case-%d", number)
		t.Run(name, func(t *testing.T) {
			cluster.makeNamespace(t, in, nil)
			try := func(spec string) error {
				if tc.name == "" {
					tc.name = "thing"
				}
				spec = strings.TrimPrefix(spec, "none")
				object := client.ApplyConfigurationFromUnstructured(resource(t, tc.kind, in, tc.name, spec))
				return cluster.Apply(t.Context(), object, client.FieldOwner("people"))
			}
			if tc.from != "" {
				if err := try(tc.from); err != nil {
					t.Fatal(err)
				}
			}
			err := try(tc.to)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("unexpectedly refused: %v", err)
			case tc.want != "" && err == nil:
				t.Errorf("unexpectedly accepted, want %q", tc.want)
			case tc.want != "" && !strings.Contains(err.Error(), tc.want):
				t.Errorf("want %q, got: %v", tc.want, err)
			}
		})
	}
}

func TestEveryRuleOfTheCRDsIsTried(t *testing.T) {
	servers.Need(t, servers.Kubernetes)
	for _, crd := range find(t, crds(t), "CustomResourceDefinition") {
		for _, message := range messages(crd.Object) {
			tried := func(tc change) bool { return tc.want != "" && strings.Contains(message, tc.want) }
			all := make([]change, 0, len(changes))
			for _, tc := range changes {
				all = append(all, tc)
			}
			if !slices.ContainsFunc(all, tried) {
				t.Errorf("%s: no test of the rule %q", crd.GetName(), message)
			}
		}
	}
}

// messages returns the messages of all CEL rules in a value.
func messages(value any) []string {
	var found []string
	switch value := value.(type) {
	case map[string]any:
		rules, _ := value["x-kubernetes-validations"].([]any)
		for _, rule := range rules {
			rule, _ := rule.(map[string]any)
			message, _ := rule["message"].(string)
			found = append(found, message)
		}
		for _, below := range value {
			found = append(found, messages(below)...)
		}
	case []any:
		for _, below := range value {
			found = append(found, messages(below)...)
		}
	}
	return found
}
