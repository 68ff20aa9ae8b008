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
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/furrow-dev/furrow/test/servers"
)

// The controller's ServiceAccount, as it is shipped, and its name for the API server.
const (
	controllerNamespace = "furrow-system"
	controllerAccount   = "furrow-controller"
	controllerUser      = "system:serviceaccount:" + controllerNamespace + ":" + controllerAccount
)

// tokenHolds is how long the controller's token holds.
const tokenHolds = 2 * time.Hour

// confinedNamespace is that of the story whose controller may do nothing outside of it.
const (
	confinedNamespace = "story-confined"
	confinedUser      = "system:serviceaccount:" + confinedNamespace + ":" + controllerAccount
)

// shipped are the documents that people apply to run the controller: CRDs, the ServiceAccount, and its roles.
var shipped = sync.OnceValues(func() ([]byte, error) {
	return output(servers.Kubernetes, "kubectl", "kustomize", "testdata/controller")
})

// chartWithin is the chart for one namespace, but for what runs its pod.
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

// output is what a program of a server prints.
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

// serviceAccount is the name of a ServiceAccount for the API server.
func serviceAccount(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// as makes a kubeconfig that holds a token of a ServiceAccount, and nothing else.
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

// trespasses are what the controller asked for and was refused by its roles, and Secrets that it read otherwise than by
// name: of this story, and of the cluster as a whole.
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
		// An API server that starts refuses what roles allow, until it has read them.
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

// used are the rights of which the controllers of all stories have made use.
var used struct {
	mu     sync.Mutex
	rights map[string]bool
}

// noteRights notes what the controllers on a cluster have asked for, and were not refused.
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

// grantedRights are those that the shipped roles give to the controller, by the role.
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

// Why roles have rights that a story need not make use of.
const (
	shown      = "watch shows all that get does, and the cache watches"
	streamed   = "the cache lists where the API server cannot stream a list into a watch, as old ones"
	noSuchKind = "no cluster of the stories has the kind"
	repeated   = "an event that is told again soon is changed instead of made: it depends on the pace"
)

// unusedFor are the rights of which no story need make use, and why the roles have them.
var unusedFor = map[string]string{
	"get seeds.furrow.dev":                         shown,
	"get plantings.furrow.dev":                     shown,
	"get clusters.furrow.dev":                      shown,
	"get clustertypes.furrow.dev":                  shown,
	"get gitopsrepos.furrow.dev":                   shown,
	"get templates.furrow.dev":                     shown,
	"get gitrepositories.source.toolkit.fluxcd.io": shown,
	"list seeds.furrow.dev":                        streamed,
	"list plantings.furrow.dev":                    streamed,
	"list clusters.furrow.dev":                     streamed,
	"list clustertypes.furrow.dev":                 streamed,
	"list gitopsrepos.furrow.dev":                  streamed,
	"list templates.furrow.dev":                    streamed,
	"update seeds/finalizers.furrow.dev":           "asked for by the admission plugin OwnerReferencesPermissionEnforcement, where that is on",
	"patch events":                                 repeated,
	"patch events.events.k8s.io":                   repeated,
	"get clusterdeployments.hive.openshift.io":     noSuchKind,
	"get hostedclusters.hypershift.openshift.io":   noSuchKind,
	"get clusters.provisioning.cattle.io":          noSuchKind,
	"get clusters.planter.nephio.org":              noSuchKind,
}

// unused are the rights that are shipped and that no story has made use of so far, with the roles that have them.
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

// checkUnused tells of rights that are shipped for nothing.
func checkUnused() error {
	rest, err := unused()
	if err != nil {
		return err
	}
	granted, err := grantedRights()
	if err != nil {
		return err
	}
	var errs []error
	for _, right := range slices.Sorted(maps.Keys(rest)) {
		if unusedFor[right] == "" {
			errs = append(errs, fmt.Errorf("no story made use of %q, which role %s gives to the controller", right, rest[right]))
		}
	}
	for _, right := range slices.Sorted(maps.Keys(unusedFor)) {
		if granted[right] == "" {
			errs = append(errs, fmt.Errorf("%q is listed among what need not be used, and no role gives it to the controller", right))
		}
	}
	return errors.Join(errs...)
}

// wholeSuite says that all stories of the package are told.
func wholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}
