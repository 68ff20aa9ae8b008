package law

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/test/servers"
)

// cluster is an API server that a run applies objects to.
type cluster struct {
	server *servers.Cluster
	egress *egress
	http   *http.Client
	// builtin are the resources that an empty API server has.
	builtin map[schema.GroupVersionKind]resource
	// marks counts how often something was awaited to be in force.
	marks int
}

// resource is how a kind is reached.
type resource struct {
	plural     string
	namespaced bool
}

// controllers are those of the controller manager that admission needs, or that change what
// packages hold.
var controllers = []string{"serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller"}

// startCluster starts an empty cluster in dir.
func startCluster(ctx context.Context, dir string, authority *authority) (*cluster, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "egress")
	e, err := startEgress(socket, authority)
	if err != nil {
		return nil, err
	}
	c := &cluster{egress: e}
	c.server, err = servers.StartCluster(ctx, servers.ClusterOptions{
		Dir: filepath.Join(dir, "cluster"), Controllers: true, OnlyControllers: controllers, ServiceAccounts: true, Egress: socket,
	})
	if err != nil {
		return nil, err
	}
	if c.http, err = rest.HTTPClientFor(c.server.Config); err != nil {
		return nil, err
	}
	return c, c.discover()
}

func (c *cluster) stop() error {
	err := c.server.Stop()
	_ = c.egress.close()
	return err
}

// empty makes the cluster as it was when it was new.
func (c *cluster) empty(ctx context.Context) error {
	c.egress.reset()
	return c.server.Wipe(ctx)
}

// discover reads the resources that the API server has.
func (c *cluster) discover() error {
	client, err := discovery.NewDiscoveryClientForConfig(c.server.Config)
	if err != nil {
		return err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return fmt.Errorf("read the resources of the API server: %w", err)
	}
	c.builtin = map[schema.GroupVersionKind]resource{}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				c.builtin[group.WithKind(r.Kind)] = resource{r.Name, r.Namespaced}
			}
		}
	}
	return nil
}

// refused is an answer other than success.
type refused struct {
	code    int
	message string
}

func (r *refused) Error() string { return r.message }

// call sends a request; the error is a *refused where the API server answered it.
func (c *cluster) call(ctx context.Context, method, path string, query url.Values, contentType string, body any, into any) error {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.server.URL+path+"?"+query.Encode(), bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		var status metav1.Status
		if json.Unmarshal(answer, &status) != nil || status.Message == "" {
			status.Message = strings.TrimSpace(string(answer))
		}
		return &refused{response.StatusCode, status.Message}
	}
	if into != nil {
		return json.Unmarshal(answer, into)
	}
	return nil
}

// path returns where an object is in the API.
func (r resource) path(o *unstructured.Unstructured) string {
	gv := o.GroupVersionKind().GroupVersion()
	root := "/apis/" + gv.String()
	if gv.Group == "" {
		root = "/api/" + gv.Version
	}
	if r.namespaced {
		root += "/namespaces/" + o.GetNamespace()
	}
	return root + "/" + r.plural + "/" + url.PathEscape(o.GetName())
}

const (
	jsonType  = "application/json"
	applyType = "application/apply-patch+yaml"
	mergeType = "application/merge-patch+json"
	patchType = "application/json-patch+json"
)

// apply applies an object as Flux does, once.
func (c *cluster) apply(ctx context.Context, r resource, o *unstructured.Unstructured, dryRun bool) error {
	query := url.Values{"fieldManager": {"law"}, "force": {"true"}}
	if dryRun {
		query.Set("dryRun", "All")
	}
	return c.call(ctx, http.MethodPatch, r.path(o), query, applyType, o.Object, nil)
}

// admits asks whether a pod would be admitted.
func (c *cluster) admits(ctx context.Context, namespace string, pod map[string]any) error {
	return c.call(ctx, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", url.Values{"dryRun": {"All"}}, jsonType, pod, nil)
}

// exists reports whether an object is there.
func (c *cluster) exists(ctx context.Context, path string) bool {
	return c.call(ctx, http.MethodGet, path, nil, jsonType, nil, nil) == nil
}

// until polls with a deadline.
func until(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited until %s: %w", what, err)
		case <-tick.C:
		}
	}
}

// awaitCRD waits until a CRD is established and each of its served versions answers, as Flux's
// health checks and its discovery after them do.
func (c *cluster) awaitCRD(ctx context.Context, o *unstructured.Unstructured) error {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &crd); err != nil {
		return err
	}
	return until(ctx, crd.Name+" is served", func(ctx context.Context) error {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			path := "/apis/" + crd.Spec.Group + "/" + version.Name
			var list metav1.APIResourceList
			if err := c.call(ctx, http.MethodGet, path, nil, jsonType, nil, &list); err != nil {
				return err
			}
			found := false
			for _, r := range list.APIResources {
				found = found || r.Name == crd.Spec.Names.Plural
			}
			if !found {
				return fmt.Errorf("%s does not list %s", path, crd.Spec.Names.Plural)
			}
		}
		return nil
	})
}

// gates are the kinds by which an API server refuses objects.
var gates = []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}

// awaitInForce waits until all webhook configurations or admission policies of a kind that were applied or deleted are in
// force. The API server learns of them in order, so one more is applied, which refuses a mark of its own, until it does.
func (c *cluster) awaitInForce(ctx context.Context, kind string) error {
	c.marks++
	label := fmt.Sprintf("law-%d", c.marks)
	text := markWebhook
	if strings.HasSuffix(kind, "Policy") {
		text = markPolicy
	}
	for _, document := range documents([]byte(strings.NewReplacer("KIND", kind, "MARK", label, "ACTION", markActions[kind]).Replace(text))) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return err
		}
		if err := c.apply(ctx, c.builtin[o.GroupVersionKind()], o, false); err != nil {
			return fmt.Errorf("apply %s law: %w", o.GetKind(), err)
		}
	}
	probe := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "law", "labels": map[string]any{"law": label}}}
	return until(ctx, "each "+kind+" is in force", func(ctx context.Context) error {
		err := c.call(ctx, http.MethodPost, "/api/v1/namespaces/default/configmaps", url.Values{"dryRun": {"All"}}, jsonType, probe, nil)
		if err == nil {
			return errors.New("the newest one is not")
		}
		return nil
	})
}

const markWebhook = `apiVersion: admissionregistration.k8s.io/v1
kind: KIND
metadata: {name: law}
webhooks:
- name: law.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {service: {namespace: default, name: MARK}}
  objectSelector: {matchLabels: {law: MARK}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`

// Its condition cannot be evaluated, and so it refuses what it matches.
const markPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: KIND
metadata: {name: law}
spec:
  failurePolicy: Fail
  matchConstraints:
    objectSelector: {matchLabels: {law: MARK}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  matchConditions: [{name: never, expression: "object.metadata.labels['absent'] == ''"}]
ACTION
---
apiVersion: admissionregistration.k8s.io/v1
kind: KINDBinding
metadata: {name: law}
spec: {policyName: law}
`

// markActions are what policies of each kind do; they get so far only if a condition holds.
var markActions = map[string]string{
	"ValidatingAdmissionPolicy": `  validations: [{expression: "false"}]`,
	"MutatingAdmissionPolicy": `  reinvocationPolicy: Never
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/data"}]'}}]`,
}

// awaitAddresses waits until Services may have the addresses of a ServiceCIDR.
func (c *cluster) awaitAddresses(ctx context.Context, o *unstructured.Unstructured) error {
	cidrs, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "cidrs")
	prefix, err := netip.ParsePrefix(cidrs[0])
	if err != nil {
		return err
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "law", "namespace": "default"},
		"spec": map[string]any{"clusterIP": prefix.Addr().Next().String(), "ports": []any{map[string]any{"port": int64(80)}}},
	}}
	return until(ctx, "Services may have addresses of "+o.GetName(), func(ctx context.Context) error {
		return c.takes(ctx, resource{"services", true}, probe)
	})
}

// takes applies an object and deletes it again. A dry run does not say whether a Service may have its address: it asks any
// one of the ranges.
func (c *cluster) takes(ctx context.Context, r resource, o *unstructured.Unstructured) error {
	if err := c.apply(ctx, r, o, false); err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, r.path(o), nil, jsonType, nil, nil)
}

// keepsToken waits until a token Secret has its token, and reports whether it has one: the controller manager deletes the
// Secret of a ServiceAccount that does not exist.
func (c *cluster) keepsToken(ctx context.Context, path string) (kept bool, err error) {
	err = until(ctx, path+" has a token", func(ctx context.Context) error {
		var secret struct{ Data struct{ Token string } }
		err := c.call(ctx, http.MethodGet, path, nil, jsonType, nil, &secret)
		var answer *refused
		switch {
		case errors.As(err, &answer) && answer.code == http.StatusNotFound:
			return nil
		case err == nil && secret.Data.Token == "":
			return errors.New("it has none")
		}
		kept = err == nil
		return err
	})
	return kept, err
}

// enforce has a ResourceQuota count from now on: as its controller does, it writes the status, by which the API server
// counts. The API server learns of quotas in order, so it is in force when one more that refuses ConfigMaps is.
func (c *cluster) enforce(ctx context.Context, quota *unstructured.Unstructured) error {
	namespace := quota.GetNamespace()
	mark := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": "law", "namespace": namespace},
		"spec": map[string]any{"hard": map[string]any{"count/configmaps": "0"}},
	}}
	quotas := resource{"resourcequotas", true}
	if err := c.apply(ctx, quotas, mark, false); err != nil {
		return err
	}
	for _, o := range []*unstructured.Unstructured{quota, mark} {
		hard, _, _ := unstructured.NestedMap(o.Object, "spec", "hard")
		used := map[string]any{}
		for name := range hard {
			used[name] = "0"
		}
		status := map[string]any{"status": map[string]any{"hard": hard, "used": used}}
		if err := c.call(ctx, http.MethodPatch, quotas.path(o)+"/status", url.Values{"fieldManager": {"operator"}}, mergeType, status, nil); err != nil {
			return fmt.Errorf("write the status of ResourceQuota %s: %w", o.GetName(), err)
		}
	}
	probe := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "law"}}
	exceeded := func(ctx context.Context) bool {
		err := c.call(ctx, http.MethodPost, "/api/v1/namespaces/"+namespace+"/configmaps", url.Values{"dryRun": {"All"}}, jsonType, probe, nil)
		return err != nil && strings.Contains(err.Error(), "exceeded quota: law")
	}
	if err := until(ctx, "the quotas of "+namespace+" count", func(ctx context.Context) error {
		if !exceeded(ctx) {
			return errors.New("the newest one does not")
		}
		return nil
	}); err != nil {
		return err
	}
	if err := c.call(ctx, http.MethodDelete, quotas.path(mark), nil, jsonType, nil, nil); err != nil {
		return err
	}
	return until(ctx, "the mark among the quotas of "+namespace+" is gone", func(ctx context.Context) error {
		if exceeded(ctx) {
			return errors.New("it still counts")
		}
		return nil
	})
}
