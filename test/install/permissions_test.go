package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/controllers"
	"github.com/furrow-dev/furrow/test/servers"
)

// as returns a client with a token of a service account.
func (c cluster) as(t *testing.T, namespace, account string) client.Client {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := c.SubResource("token").Create(t.Context(), owner, request); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.server.Config)
	config.BearerToken = request.Status.Token
	return clientFor(t, config)
}

// may reports whether a client may do something: "verb plural.group[/subresource] [namespace[/name]]", or "verb /path".
func may(t *testing.T, user client.Client, what string) bool {
	t.Helper()
	words := append(strings.Fields(what), "")
	review := &authorizationv1.SelfSubjectAccessReview{}
	if strings.HasPrefix(words[1], "/") {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: words[0], Path: words[1]}
	} else {
		resource, subresource, _ := strings.Cut(words[1], "/")
		resource, group, _ := strings.Cut(resource, ".")
		namespace, name, _ := strings.Cut(words[2], "/")
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Verb: words[0], Group: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name,
		}
	}
	if err := user.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

const (
	flux     = "source.toolkit.fluxcd.io"
	election = "coordination.k8s.io"
)

// always are the rights of every controller in the namespace that it watches, here team, and in its own.
var always = []string{
	"get seeds.furrow.dev team", "list seeds.furrow.dev team", "watch seeds.furrow.dev team", "patch seeds.furrow.dev team",
	"update seeds.furrow.dev/finalizers team", "patch seeds.furrow.dev/status team",
	"list clusters.furrow.dev team", "watch clustertypes.furrow.dev team", "get gitopsrepos.furrow.dev team",
	"list templates.furrow.dev team", "watch rolloutpolicies.furrow.dev team", "patch rolloutpolicies.furrow.dev/status team", "patch clusters.furrow.dev/status team", "patch clustertypes.furrow.dev/status team",
	"patch gitopsrepos.furrow.dev/status team", "patch templates.furrow.dev/status team",
	"create plantings.furrow.dev team", "delete plantings.furrow.dev team",
	"watch plantings.furrow.dev team", "patch plantings.furrow.dev/status team",
	"get secrets team", "create events.events.k8s.io team", "patch events.events.k8s.io team",
	"list gitrepositories." + flux + " team", "watch gitrepositories." + flux + " team",
	"create leases." + election + " " + namespace,
	"get leases." + election + " " + namespace + "/" + controllers.LeaderElectionID,
	"update leases." + election + " " + namespace + "/" + controllers.LeaderElectionID,
	"create events " + namespace,
}

// never are rights that no controller has.
var never = []string{
	"list secrets", "watch secrets", "list secrets team", "watch secrets team", "list secrets " + namespace,
	"create secrets team", "update secrets team", "patch secrets team", "delete secrets team",
	"create deployments.apps team", "create pods team", "get pods " + namespace, "create namespaces", "get configmaps team",
	"create seeds.furrow.dev team", "update seeds.furrow.dev team", "delete seeds.furrow.dev team",
	"patch clusters.furrow.dev team", "delete templates.furrow.dev team", "patch gitopsrepos.furrow.dev team",
	"update plantings.furrow.dev team", "deletecollection plantings.furrow.dev team", "update seeds.furrow.dev/status team",
	"create gitrepositories." + flux + " team", "patch gitrepositories." + flux + " team",
	"patch kustomizations.kustomize.toolkit.fluxcd.io flux-system", "delete clusters.cluster.x-k8s.io edge",
	"list clusters.cluster.x-k8s.io edge", "list events team", "delete events team",
	"update leases." + election + " " + namespace + "/other", "delete leases." + election + " " + namespace + "/" + controllers.LeaderElectionID,
	"list leases." + election + " " + namespace, "create leases." + election + " team",
	"escalate clusterroles.rbac.authorization.k8s.io", "bind clusterroles.rbac.authorization.k8s.io",
	"create serviceaccounts/token " + namespace, "impersonate users", "get customresourcedefinitions.apiextensions.k8s.io",
	"get /metrics", "get nodes",
}

// elsewhere are the rights of a controller of all namespaces that one of a single namespace does not have.
var elsewhere = []string{
	"get seeds.furrow.dev other", "list seeds.furrow.dev", "watch plantings.furrow.dev", "get secrets other",
	"list gitrepositories." + flux,
}

// onItsCluster are the rights that the controller needs on a cluster of the fleet.
var onItsCluster = []string{
	"list kustomizations.kustomize.toolkit.fluxcd.io", "watch kustomizations.kustomize.toolkit.fluxcd.io",
	"get gitrepositories." + flux + " flux-system", "list gitrepositories." + flux,
	"get clusters.cluster.x-k8s.io edge", "get clusterdeployments.hive.openshift.io edge",
	"get hostedclusters.hypershift.openshift.io edge", "get clusters.provisioning.cattle.io edge",
	"get clusters.planter.nephio.org edge", "get secrets edge/edge-1-kubeconfig", "get /readyz",
}

func TestTheControllerHasTheRightsThatItNeeds(t *testing.T) {
	servers.Need(t, append([]servers.Name{servers.Helm}, servers.ForCluster...)...)
	cluster := startCluster(t, "permissions")
	cluster.apply(t, crds(t))
	for _, name := range []string{namespace, "team", "other"} {
		cluster.makeNamespace(t, name, nil)
	}
	for name, tc := range map[string]struct {
		documents  []byte
		may, mayNo []string
	}{
		"config/default":   {kustomize(t, "../../config/default"), elsewhere, []string{"list kustomizations.kustomize.toolkit.fluxcd.io"}},
		"with the cluster": {kustomize(t, "testdata/components"), slices.Concat(elsewhere, onItsCluster), nil},
		"the chart":        {must(t)(render(t, "--set", "crds.install=false")), elsewhere, []string{"list kustomizations.kustomize.toolkit.fluxcd.io"}},
		"the chart with the cluster": {
			must(t)(render(t, "--set", "crds.install=false,cluster.name=mgmt")), slices.Concat(elsewhere, onItsCluster), nil,
		},
		"the chart in a namespace": {must(t)(render(t, append(namespacedFlags, "--set", "watchNamespace=team")...)), nil, elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			cluster.apply(t, tc.documents)
			defer cluster.removeInstallation(t)
			controller := cluster.as(t, namespace, "furrow-controller")
			for _, what := range slices.Concat(always, tc.may) {
				// The API server notices new and deleted roles with a delay.
				eventually(t, "it may "+what, func() bool { return may(t, controller, what) })
			}
			for _, what := range slices.Concat(never, tc.mayNo) {
				eventually(t, "it may not "+what, func() bool { return !may(t, controller, what) })
			}
		})
	}
}

// removeInstallation deletes the controller, all of Furrow's roles and their bindings.
func (c cluster) removeInstallation(t *testing.T) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.RoleList{},
	} {
		if err := c.List(t.Context(), list); err != nil {
			t.Error(err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if !strings.HasPrefix(object.GetName(), "furrow-") {
				return nil
			}
			return c.Delete(t.Context(), object)
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestTheControllerHasNoOtherRights(t *testing.T) {
	servers.Need(t, servers.ForCluster...)
	cluster := startCluster(t, "rights")
	cluster.apply(t, kustomize(t, "testdata/components"))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "nobody", Namespace: namespace}}
	if err := cluster.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	everybody := rightsOf(t, cluster.as(t, namespace, "nobody"))
	var got []string
	for _, right := range rightsOf(t, cluster.as(t, namespace, "furrow-controller")) {
		if !slices.Contains(everybody, right) {
			got = append(got, right)
		}
	}
	var want []string
	for _, role := range objects(t, read(t, "../../config/rbac/role.yaml")) {
		for _, rule := range rulesOf(t, role.GetName()) {
			for _, right := range rightsIn(rule) {
				if !slices.Contains(everybody, right) {
					want = append(want, right)
				}
			}
		}
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("rights of the controller (-config/rbac/role.yaml +API server):\n%s", diff)
	}

	t.Run("Secrets are read by name only", func(t *testing.T) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token", Namespace: "default"}}
		if err := cluster.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		controller := cluster.as(t, namespace, "furrow-controller")
		if err := controller.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
			t.Error(err)
		}
		if err := controller.List(t.Context(), &corev1.SecretList{}, client.InNamespace("default")); !apierrors.IsForbidden(err) {
			t.Errorf("it may list Secrets: %v", err)
		}
	})
}

// rightsOf returns all rights of a client in the controller's namespace, from the API server.
func rightsOf(t *testing.T, user client.Client) []string {
	t.Helper()
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := user.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if review.Status.Incomplete {
		t.Fatalf("the API server does not answer completely: %s", review.Status.EvaluationError)
	}
	var rights []string
	for _, rule := range review.Status.ResourceRules {
		rights = append(rights, rightsIn(rbacv1.PolicyRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
		})...)
	}
	for _, rule := range review.Status.NonResourceRules {
		rights = append(rights, rightsIn(rbacv1.PolicyRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})...)
	}
	return rights
}

// rightsIn splits a rule into rights.
func rightsIn(rule rbacv1.PolicyRule) []string {
	var rights []string
	for _, verb := range rule.Verbs {
		for _, url := range rule.NonResourceURLs {
			rights = append(rights, verb+" "+url)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				rights = append(rights, fmt.Sprintf("%s %s.%s %v", verb, resource, group, rule.ResourceNames))
			}
		}
	}
	return rights
}

func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

func TestUserRolesAggregateFurrowsKinds(t *testing.T) {
	servers.Need(t, servers.ForCluster...)
	cluster := startCluster(t, "users", controllerManager)
	cluster.apply(t, kustomize(t, "../../config/default"))
	cluster.makeNamespace(t, "team", nil)
	for role, want := range map[string]map[string]bool{
		"view":  {"get seeds.furrow.dev team": true, "list plantings.furrow.dev team": true, "create seeds.furrow.dev team": false},
		"edit":  {"get seeds.furrow.dev team": true, "create seeds.furrow.dev team": true, "delete templates.furrow.dev team": true, "create plantings.furrow.dev team": false, "delete plantings.furrow.dev team": false, "patch seeds.furrow.dev/status team": false},
		"admin": {"get seeds.furrow.dev team": true, "update gitopsrepos.furrow.dev team": true, "delete plantings.furrow.dev team": true, "create plantings.furrow.dev team": false},
	} {
		t.Run(role, func(t *testing.T) {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: role, Namespace: "team"}}
			binding := &rbacv1.RoleBinding{
				ObjectMeta: account.ObjectMeta,
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: role, Namespace: "team"}},
			}
			for _, object := range []client.Object{account, binding} {
				if err := cluster.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			user := cluster.as(t, "team", role)
			// Roles are aggregated after a moment.
			eventually(t, "the role takes in Furrow's", func() bool { return may(t, user, "get seeds.furrow.dev team") })
			for what, allowed := range want {
				eventually(t, fmt.Sprintf("may %s: %v", what, allowed), func() bool { return may(t, user, what) == allowed })
			}
		})
	}
}

func TestEveryCreatorsKindMayBeRead(t *testing.T) {
	var creators []struct{ Group, Kind, Version string }
	if err := kubeyaml.Unmarshal(read(t, "../../internal/core/catalog/creators.yaml"), &creators); err != nil || len(creators) == 0 {
		t.Fatalf("no creators: %v", err)
	}
	var granted []string
	for _, rule := range rulesOf(t, "furrow-cluster-reader") {
		granted = append(granted, rightsIn(rule)...)
	}
	for _, creator := range creators {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: creator.Group, Kind: creator.Kind})
		if want := fmt.Sprintf("get %s.%s []", plural.Resource, creator.Group); !slices.Contains(granted, want) {
			t.Errorf("controllers/rbac.go has no marker for %q, so %s cannot be observed on the controller's own cluster", want, creator.Kind)
		}
	}
}

func TestTheDocumentationListsEveryPermission(t *testing.T) {
	_, table, found := strings.Cut(string(read(t, "../../docs/install.md")), "<!-- permissions -->\n")
	if !found {
		t.Fatal("docs/install.md has no <!-- permissions -->")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var got []string
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 4 {
			t.Fatalf("not four cells: %s", line)
		}
		got = append(got, strings.ReplaceAll(strings.Join(cells[:3], " "), "`", ""))
	}
	var want []string
	for _, name := range []string{"furrow-controller", "furrow-leader-election", "furrow-cluster-reader"} {
		for _, rule := range rulesOf(t, name) {
			on := slices.Clone(rule.NonResourceURLs)
			for _, resource := range rule.Resources {
				for _, group := range rule.APIGroups {
					on = append(on, strings.TrimSuffix(resource+"."+group, "."))
				}
			}
			for i, named := range rule.ResourceNames {
				on[i] += " named " + named
			}
			slices.Sort(on)
			want = append(want, name+" "+strings.Join(on, ", ")+" "+strings.Join(rule.Verbs, ", "))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-config/rbac/role.yaml +docs):\n%s", diff)
	}
}

// rulesOf returns the rules of a generated role.
func rulesOf(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	for _, role := range objects(t, read(t, "../../config/rbac/role.yaml")) {
		if role.GetName() != name {
			continue
		}
		var rules struct{ Rules []rbacv1.PolicyRule }
		if err := kubeyaml.Unmarshal(must(t)(kubeyaml.Marshal(role.Object)), &rules); err != nil {
			t.Fatal(err)
		}
		return rules.Rules
	}
	t.Fatalf("config/rbac/role.yaml has no role %s", name)
	return nil
}
