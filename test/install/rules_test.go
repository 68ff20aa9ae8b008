package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// change is a resource that is made, or one that is there and is changed, and what the API server says of it.
type change struct {
	kind string
	// name is "thing" when empty.
	name string
	// from is the YAML of the spec that is there; empty where the resource is made, "none" where it has no spec.
	from string
	// to is the spec that is tried.
	to string
	// want is part of the message; empty where it is accepted.
	want string
}

const (
	dnsLabelOf = " is a DNS label of at most 63 characters"
	noRoot     = "objects would lose their owner"
	otherRepo  = "Declare another GitOpsRepo"
	otherSeed  = "cannot be changed: the plan belongs to the control plane that made it. Make another Seed"
	httpsOnly  = "url is the https URL of a repository, without credentials in it; name those in credentials"
	source     = "{source: {url: 'https://git.example.com/a'}}"
)

var commit = strings.Repeat("0123456789", 4)

var changes = map[string]change{
	"a cluster needs no spec at all":                  {kind: "Cluster"},
	"its name has no dots":                            {kind: "Cluster", name: "a.b", want: "the name of a cluster" + dnsLabelOf},
	"nor is it longer than a label":                   {kind: "Cluster", name: strings.Repeat("a", 64), want: "the name of a cluster" + dnsLabelOf},
	"as long as a label is fine":                      {kind: "Cluster", name: strings.Repeat("a", 63)},
	"roles are two":                                   {kind: "Cluster", to: "{role: Edge}", want: `Unsupported value: "Edge"`},
	"a hub cannot be taken":                           {kind: "Cluster", from: "{type: a}", to: "{type: a, reconciledBy: hub}", want: noRoot},
	"a hub cannot be left":                            {kind: "Cluster", from: "{reconciledBy: hub}", to: "{type: a}", want: noRoot},
	"a hub cannot be changed":                         {kind: "Cluster", from: "{reconciledBy: hub}", to: "{reconciledBy: bub}", want: noRoot},
	"what is beside the hub can":                      {kind: "Cluster", from: "{reconciledBy: hub}", to: "{reconciledBy: hub, role: Management}"},
	"a hub cannot be taken where there was no spec":   {kind: "Cluster", from: "none", to: "{reconciledBy: hub}", want: noRoot},
	"a hub cannot be left with the spec":              {kind: "Cluster", from: "{reconciledBy: hub}", to: "none", want: noRoot},
	"a path cannot be given where there was no spec":  {kind: "Cluster", from: "none", to: "{path: a}", want: "path cannot be changed: the cluster's root syncs it"},
	"a path cannot be left with the spec":             {kind: "Cluster", from: "{path: a}", to: "none", want: "path cannot be changed: the cluster's root syncs it"},
	"a spec may come later":                           {kind: "Cluster", from: "none", to: "{role: Management}"},
	"and go":                                          {kind: "Cluster", from: "{role: Management}", to: "none"},
	"a hub is named by a DNS label":                   {kind: "Cluster", to: "{reconciledBy: Hub}", want: "spec.reconciledBy"},
	"the path cannot be changed":                      {kind: "Cluster", from: "{path: a}", to: "{path: b}", want: "path cannot be changed: the cluster's root syncs it"},
	"nor given later":                                 {kind: "Cluster", from: "{type: a}", to: "{path: b}", want: "path cannot be changed: the cluster's root syncs it"},
	"a workload cluster has no default type":          {kind: "Cluster", to: "{defaultClusterType: a}", want: "defaultClusterType is for clusters of role Management"},
	"a management cluster has":                        {kind: "Cluster", to: "{defaultClusterType: a, role: Management}"},
	"a kubeconfig is for a hub":                       {kind: "Cluster", to: "{kubeConfigSecret: {name: a}}", want: "kubeConfigSecret is for clusters with a hub; name it in reconciledBy"},
	"with a hub it is fine":                           {kind: "Cluster", to: "{kubeConfigSecret: {name: a}, reconciledBy: hub}"},
	"a namespace is provided once":                    {kind: "Cluster", to: "{provides: {namespaces: [a, a]}}", want: "duplicate entries"},
	"fields that do not exist are refused":            {kind: "Cluster", to: "{paths: a}", want: "field not declared in schema"},
	"a cluster type needs no spec":                    {kind: "ClusterType"},
	"a cluster type's name has no dots":               {kind: "ClusterType", name: "a.b", want: "the name of a cluster type" + dnsLabelOf},
	"Flux is the only reconciler":                     {kind: "ClusterType", to: "{reconciler: ArgoCD}", want: `Unsupported value: "ArgoCD"`},
	"decryption says by what":                         {kind: "ClusterType", to: "{decryption: {secretName: a}}", want: "spec.decryption.provider: Required value"},
	"sops is the only way":                            {kind: "ClusterType", to: "{decryption: {provider: pgp}}", want: `Unsupported value: "pgp"`},
	"a type may take all at once":                     {kind: "ClusterType", from: "{gitOpsRepo: a}", to: "{reconciler: Flux, decryption: {provider: sops}, gitOpsRepo: b}"},
	"a repository has a URL":                          {kind: "GitOpsRepo", to: "{branch: main}", want: "spec.url: Required value"},
	"with one it is fine":                             {kind: "GitOpsRepo", to: "{url: 'https://git.example.com/a.git'}"},
	"a repository's name has no dots":                 {kind: "GitOpsRepo", name: "a.b", to: "{url: 'https://git.example.com'}", want: "the name of a GitOps repository" + dnsLabelOf},
	"a repository's URL has no credentials":           {kind: "GitOpsRepo", to: "{url: 'https://me:secret@git.example.com/a'}", want: httpsOnly},
	"it is not of SSH":                                {kind: "GitOpsRepo", to: "{url: 'git@git.example.com:a.git'}", want: httpsOnly},
	"it is not a path: there are no disks":            {kind: "GitOpsRepo", to: "{url: '/srv/a'}", want: httpsOnly},
	"an @ in the path is fine":                        {kind: "GitOpsRepo", to: "{url: 'https://git.example.com/@me/a'}"},
	"the URL may move":                                {kind: "GitOpsRepo", from: "{url: 'https://git.example.com/a'}", to: "{url: 'https://git.example.org/a'}"},
	"the base branch may not":                         {kind: "GitOpsRepo", from: "{url: 'https://git.example.com/a', branch: a}", to: "{url: 'https://git.example.com/a', branch: b}", want: "branch cannot be changed: what is planted is known by it. " + otherRepo},
	"to say main where it is main is fine":            {kind: "GitOpsRepo", from: "{url: 'https://git.example.com/a'}", to: "{url: 'https://git.example.com/a', branch: main}"},
	"the prefix may not move":                         {kind: "GitOpsRepo", from: "{url: 'https://git.example.com/a'}", to: "{url: 'https://git.example.com/a', path: b}", want: "path cannot be changed: what is planted lies below it. " + otherRepo},
	"forges are two":                                  {kind: "GitOpsRepo", to: "{url: 'https://git.example.com/a', forge: Hub}", want: `Unsupported value: "Hub"`},
	"update policies are two":                         {kind: "GitOpsRepo", to: "{url: 'https://git.example.com/a', update: Never}", want: `Unsupported value: "Never"`},
	"a template has a type and a text":                {kind: "Template", to: "{type: Reconciler, text: a}"},
	"a template's name has no dots":                   {kind: "Template", name: "a.b", to: "{type: Reconciler, text: a}", want: "the name of a template" + dnsLabelOf},
	"a proposal has one name":                         {kind: "Template", to: "{type: Proposal, text: a}", want: "a Template of type Proposal is used when it is named proposal"},
	"by that it is known":                             {kind: "Template", name: "proposal", to: "{type: Proposal, text: a}"},
	"an empty text is none":                           {kind: "Template", to: "{type: Reconciler, text: ''}", want: "spec.text"},
	"a type stays":                                    {kind: "Template", name: "proposal", from: "{type: Proposal, text: a}", to: "{type: Reconciler, text: a}", want: "type cannot be changed: make another Template"},
	"a text may change":                               {kind: "Template", from: "{type: Reconciler, text: a}", to: "{type: Reconciler, text: b}"},
	"a planting's name has a dot":                     {kind: "Planting", name: "a.b", to: "{seed: a, cluster: b}"},
	"a planting stays what it is":                     {kind: "Planting", name: "a.b", from: "{seed: a, cluster: b}", to: "{seed: a, cluster: c}", want: "a planting is of one seed and one cluster for good"},
	"a planting has both":                             {kind: "Planting", name: "a.b", to: "{seed: a}", want: "spec.cluster: Required value"},
	"a seed has a source":                             {kind: "Seed", to: source},
	"a seed's name has no dots":                       {kind: "Seed", name: "a.b", to: source, want: "the name of a seed" + dnsLabelOf},
	"a seed without a spec has none":                  {kind: "Seed", want: "spec.source is missing: say which repository holds the control-plane tree with the seed"},
	"a seed without a source neither":                 {kind: "Seed", to: "{suspend: true}", want: "spec.source is missing"},
	"a source stays":                                  {kind: "Seed", from: source, to: "{suspend: true}", want: "source cannot be taken out"},
	"a source is one of two":                          {kind: "Seed", to: "{source: {path: a}}", want: "give either url or gitRepositoryRef"},
	"and not both":                                    {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', gitRepositoryRef: {name: a}}}", want: "give either url or gitRepositoryRef"},
	"the other one is fine":                           {kind: "Seed", to: "{source: {gitRepositoryRef: {name: a}}}"},
	"a GitRepository brings its credentials":          {kind: "Seed", to: "{source: {gitRepositoryRef: {name: a}, credentials: b}}", want: "with gitRepositoryRef, the credentials are those of the GitRepository"},
	"a URL does not":                                  {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', credentials: b}}"},
	"a source's URL has no credentials":               {kind: "Seed", to: "{source: {url: 'https://me@git.example.com/a'}}", want: httpsOnly},
	"a source's URL stays":                            {kind: "Seed", from: source, to: "{source: {url: 'https://git.example.com/b'}}", want: "source.url " + otherSeed},
	"it is not exchanged for the other":               {kind: "Seed", from: source, to: "{source: {gitRepositoryRef: {name: a}}}", want: "source.url " + otherSeed},
	"a GitRepository stays":                           {kind: "Seed", from: "{source: {gitRepositoryRef: {name: a}}}", to: "{source: {gitRepositoryRef: {name: b}}}", want: "source.gitRepositoryRef " + otherSeed},
	"a tree's directory stays":                        {kind: "Seed", from: source, to: "{source: {url: 'https://git.example.com/a', path: b}}", want: "source.path " + otherSeed},
	"it is inside the repository":                     {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', path: ../b}}", want: "path is a directory inside the repository, without '..'"},
	"and not at the disk's root":                      {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', path: /b}}", want: "path is a directory inside the repository, without '..'"},
	"a branch stays":                                  {kind: "Seed", from: "{source: {url: 'https://git.example.com/a', revision: a}}", to: "{source: {url: 'https://git.example.com/a', revision: b}}", want: "the branch in source.revision " + otherSeed},
	"a commit of the branch may be stayed at":         {kind: "Seed", from: "{source: {url: 'https://git.example.com/a', revision: a}}", to: "{source: {url: 'https://git.example.com/a', revision: 'a@sha1:" + commit + "'}}"},
	"a commit is whole":                               {kind: "Seed", to: "{source: {url: 'https://git.example.com/a', revision: 'a@sha1:0123'}}", want: "spec.source.revision"},
	"credentials may change":                          {kind: "Seed", from: source, to: "{source: {url: 'https://git.example.com/a', credentials: b}}"},
	"a deletion does not wait for less than a second": {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, deletionTimeout: 10ms}", want: "deletionTimeout must be at least 1s"},
	"a second is fine":                                {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, deletionTimeout: 1s}"},
	"deletion policies are two":                       {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, deletionPolicy: Forget}", want: `Unsupported value: "Forget"`},
	"they may change":                                 {kind: "Seed", from: source, to: "{source: {url: 'https://git.example.com/a'}, deletionPolicy: Orphan}"},
	"policies of plain Secrets are two":               {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, plainSecrets: Hide}", want: `Unsupported value: "Hide"`},
	"rules are switched off once":                     {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, disabledRules: [a, a]}", want: "duplicate entries"},
	"and are not countless":                           {kind: "Seed", to: "{source: {url: 'https://git.example.com/a'}, disabledRules: [" + countTo(33) + "]}", want: "must have at most 32 items"},
}

// countTo gives n different words.
func countTo(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("r%d", i)
	}
	return strings.Join(words, ", ")
}

func TestWhatTheCRDsRefuse(t *testing.T) {
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
				t.Errorf("it is refused: %v", err)
			case tc.want != "" && err == nil:
				t.Errorf("it is accepted, without %q", tc.want)
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
				t.Errorf("%s: nothing tries the rule %q", crd.GetName(), message)
			}
		}
	}
}

// messages are those of all CEL rules below a value.
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
