package law

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

	"github.com/furrow-dev/furrow/test/servers"
)

// cluster is an API server that a run applies objects to.
type cluster struct {
	server *servers.Cluster
	egress *egress
	http   *http.Client
	// builtin are the resources that an empty API server has.
	builtin map[schema.GroupVersionKind]resource
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

// awaitConfigurations waits until all webhook configurations of a kind, Validating or Mutating, that
// were applied are in force. The API server learns of them in order, so one more is applied, which
// refuses a mark of its own, until it does.
func (c *cluster) awaitConfigurations(ctx context.Context, kind string, mark int) error {
	label := fmt.Sprintf("law-%s-%d", strings.ToLower(kind), mark)
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration", "metadata": map[string]any{"name": "law"},
		"webhooks": []any{map[string]any{
			"name": "law.example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
			"clientConfig":   map[string]any{"service": map[string]any{"namespace": "default", "name": label}},
			"objectSelector": map[string]any{"matchLabels": map[string]any{"law": label}},
			"rules":          []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"configmaps"}}},
		}},
	}}
	if err := c.apply(ctx, resource{strings.ToLower(kind) + "webhookconfigurations", false}, o, false); err != nil {
		return err
	}
	probe := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "law", "labels": map[string]any{"law": label}}}
	return until(ctx, "webhook configurations are in force", func(ctx context.Context) error {
		err := c.call(ctx, http.MethodPost, "/api/v1/namespaces/default/configmaps", url.Values{"dryRun": {"All"}}, jsonType, probe, nil)
		if err == nil {
			return fmt.Errorf("the newest one is not")
		}
		return nil
	})
}
