package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/test/servers"
)

// The controller's shipped ServiceAccount, and its user name at the API server.
const (
	controllerNamespace = "furrow-system"
	controllerAccount   = "furrow-controller"
	controllerUser      = "system:serviceaccount:" + controllerNamespace + ":" + controllerAccount
)

// tokenHolds is the lifetime of the controller's token.
const tokenHolds = 2 * time.Hour

// confinedNamespace is the namespace of the story whose controller has no rights outside of it.
const (
	confinedNamespace = "story-confined"
	confinedUser      = "system:serviceaccount:" + confinedNamespace + ":" + controllerAccount
)

// shipped returns the documents that people apply to run the controller: CRDs, the ServiceAccount, and its roles.
var shipped = sync.OnceValues(func() ([]byte, error) {
	return output(servers.Kubernetes, "kubectl", "kustomize", "testdata/controller")
})

// chartWithin renders the chart for one namespace, without the objects that run the pod.
func chartWithin(namespace string) ([]byte, error) {
	documents, err := output(servers.Helm, "helm", "template", "furrow", "../../charts/furrow", "--namespace", namespace,
		"--set", "namespaced=true,crds.install=false,rbac.userRoles=false")
	if err != nil {
		return nil, err
	}
	var out []byte
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		var object unstructured.Unstructured
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if kind := object.GetKind(); kind == "ServiceAccount" || kind == "Role" || kind == "RoleBinding" {
			document, err := object.MarshalJSON()
			if err != nil {
				return nil, err
			}
			out = append(append(out, "---\n"...), document...)
		}
	}
}

// output runs one of the servers' programs and returns its output.
func output(of servers.Name, program string, args ...string) ([]byte, error) {
	bin, err := servers.Find(of)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(bin.Program(of, program), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// serviceAccount returns the user name of a ServiceAccount.
func serviceAccount(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// as creates a kubeconfig with only a token of a ServiceAccount.
func (w *world) as(ctx context.Context, namespace, name string) ([]byte, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	seconds := int64(tokenHolds.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := w.mgmt.Client().SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("ask for a token of %s/%s: %w", namespace, name, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["mgmt"] = &clientcmdapi.Cluster{Server: w.mgmt.URL, CertificateAuthorityData: w.mgmt.Config.CAData}
	config.AuthInfos["controller"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts["mgmt"] = &clientcmdapi.Context{Cluster: "mgmt", AuthInfo: "controller"}
	config.CurrentContext = "mgmt"
	return clientcmd.Write(*config)
}

// trespasses returns the controller's requests that its roles refused, and reads of Secrets other than by name: of this
// story, and of the cluster as a whole.
func (s *story) trespasses() ([]string, error) {
	events, err := s.world.mgmt.AuditEvents()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range events {
		user := e.User.Username
		others := user == controllerUser && e.ObjectRef.Namespace != "" && !s.concerns(e) && e.ObjectRef.Namespace != controllerNamespace
		if user != serviceAccount(s.controller.installed, controllerAccount) || others {
			continue
		}
		// A starting API server refuses what roles allow until it has read them.
		starts := e.Received.After(s.startsFrom) && e.Received.Before(s.startedAt)
		refused := !starts && (e.ResponseStatus.Code == 401 || e.ResponseStatus.Code == 403)
		if refused || e.ObjectRef.Resource == "secrets" && e.Verb != "get" {
			found = append(found, describe("mgmt", e))
		}
	}
	return found, nil
}

func isController(e servers.AuditEvent) bool {
	return e.User.Username == controllerUser || e.User.Username == confinedUser
}

// used are the rights that the controllers of all stories have used.
var used struct {
	mu     sync.Mutex
	rights map[string]bool
}

// noteRights records the requests of a cluster's controllers that were not refused.
func noteRights(cluster *servers.Cluster) error {
	events, err := cluster.AuditEvents()
	if err != nil {
		return err
	}
	used.mu.Lock()
	defer used.mu.Unlock()
	if used.rights == nil {
		used.rights = map[string]bool{}
	}
	for _, e := range events {
		if e.User.Username == controllerUser && e.ResponseStatus.Code != 403 {
			used.rights[rightOf(e)] = true
		}
	}
	return nil
}

func rightOf(e servers.AuditEvent) string {
	if e.ObjectRef.Resource == "" {
		path := e.RequestURI
		if at, err := url.Parse(path); err == nil {
			path = at.Path
		}
		return e.Verb + " " + path
	}
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return right(e.Verb, resource, e.ObjectRef.APIGroup)
}

func right(verb, resource, group string) string {
	return strings.TrimSuffix(verb+" "+resource+"."+group, ".")
}

// grantedRights returns the rights that the shipped roles grant to the controller, with the role.
func grantedRights() (map[string]string, error) {
	documents, err := shipped()
	if err != nil {
		return nil, err
	}
	roles := map[string]bool{"furrow-controller": true, "furrow-leader-election": true, "furrow-cluster-reader": true}
	granted := map[string]string{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		var role rbacv1.ClusterRole
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			return granted, nil
		} else if err != nil {
			return nil, err
		}
		if !roles[role.Name] || role.Kind != "ClusterRole" && role.Kind != "Role" {
			continue
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, path := range rule.NonResourceURLs {
					granted[verb+" "+path] = role.Name
				}
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						granted[right(verb, resource, group)] = role.Name
					}
				}
			}
		}
	}
}

// Why roles have rights that stories need not use.
const (
	shown      = "watch shows all that get does, and the cache watches"
	streamed   = "the cache lists where the API server cannot stream a list into a watch, as old ones"
	noSuchKind = "no cluster of the stories has the kind"
	repeated   = "a repeated event is patched instead of created: it depends on the timing"
)

// unusedFor has the rights that no story needs to use, and why the roles have them.
var unusedFor = map[string]string{
	"get seeds.furrow.dev":                         shown,
	"get plantings.furrow.dev":                     shown,
	"get clusters.furrow.dev":                      shown,
	"get clustertypes.furrow.dev":                  shown,
	"get gitopsrepos.furrow.dev":                   shown,
	"get rolloutpolicies.furrow.dev":               shown,
	"get templates.furrow.dev":                     shown,
	"get gitrepositories.source.toolkit.fluxcd.io": shown,
	"list seeds.furrow.dev":                        streamed,
	"list plantings.furrow.dev":                    streamed,
	"list clusters.furrow.dev":                     streamed,
	"list clustertypes.furrow.dev":                 streamed,
	"list gitopsrepos.furrow.dev":                  streamed,
	"list rolloutpolicies.furrow.dev":              streamed,
	"list templates.furrow.dev":                    streamed,
	"patch rolloutpolicies/status.furrow.dev":      "no story has a RolloutPolicy resource; the statuses of all such kinds are written alike",
	"update seeds/finalizers.furrow.dev":           "asked for by the admission plugin OwnerReferencesPermissionEnforcement, where that is on",
	"patch events":                                 repeated,
	"patch events.events.k8s.io":                   repeated,
}

// rightsWithoutUse returns the rights that no story needs to use, and why the roles have them: unusedFor, and the kinds
// of creators but for Cluster API's, whose clusters stories make.
func rightsWithoutUse() (map[string]string, error) {
	data, err := os.ReadFile("../../internal/core/catalog/creators.yaml")
	if err != nil {
		return nil, err
	}
	var creators []metav1.GroupKind
	if err := kubeyaml.Unmarshal(data, &creators); err != nil {
		return nil, fmt.Errorf("creators.yaml: %w", err)
	}
	rights := maps.Clone(unusedFor)
	for _, creator := range creators {
		if creator.Group != "cluster.x-k8s.io" {
			plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: creator.Group, Kind: creator.Kind})
			rights[right("get", plural.Resource, creator.Group)] = noSuchKind
		}
	}
	return rights, nil
}

// unused returns the shipped rights that no story has used so far, with their roles.
func unused() (map[string]string, error) {
	granted, err := grantedRights()
	if err != nil {
		return nil, err
	}
	used.mu.Lock()
	defer used.mu.Unlock()
	maps.DeleteFunc(granted, func(right, _ string) bool { return used.rights[right] })
	return granted, nil
}

// checkUnused fails if roles have rights that no story needs.
func checkUnused() error {
	rest, err := unused()
	if err != nil {
		return err
	}
	granted, err := grantedRights()
	if err != nil {
		return err
	}
	withoutUse, err := rightsWithoutUse()
	if err != nil {
		return err
	}
	var errs []error
	for _, right := range slices.Sorted(maps.Keys(rest)) {
		if withoutUse[right] == "" {
			errs = append(errs, fmt.Errorf("no story used %q, which role %s grants to the controller", right, rest[right]))
		}
	}
	for _, right := range slices.Sorted(maps.Keys(withoutUse)) {
		if granted[right] == "" {
			errs = append(errs, fmt.Errorf("%q is a right without use, but no role grants it to the controller", right))
		}
	}
	return errors.Join(errs...)
}

// wholeSuite reports whether all stories of the package run.
func wholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}
