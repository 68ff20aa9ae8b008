package flux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/klog/v2"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/redact"
)

// requestTimeout bounds every request but lists and watches.
const requestTimeout = 5 * time.Second

// keepAlive finds connections through which nothing passes any more where watches
// have one of their own, as without HTTP/2.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}

// connection is a connection to one API server. It has a transport of its own: closing it leaves no
// TCP connection for a successor to use, because a dead one appears alive for a long time. kinds
// remembers the resources of kinds that were found, which mu guards.
type connection struct {
	// server is the API server's URL, in messages.
	server, origin string
	base           *url.URL
	client         *http.Client
	dynamic        dynamic.Interface
	conns          *connrotation.ConnectionTracker
	transport      *http.Transport

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]resource
}

// resource is how a kind is asked for.
type resource struct {
	gvr        schema.GroupVersionResource
	namespaced bool
}

// connect prepares a connection; nothing is sent before the first request. client-go would share
// transports between clients of equal configuration, and then closing one would close others.
func connect(a *access) (*connection, error) {
	base, _, err := rest.DefaultServerUrlFor(a.config)
	if err != nil {
		return nil, invalid(a.origin, err)
	}
	c := &connection{
		server: redact.URL(a.config.Host), origin: a.origin, base: base,
		conns: connrotation.NewConnectionTracker(), kinds: map[schema.GroupVersionKind]resource{},
	}
	tc, err := a.config.TransportConfig()
	if err != nil {
		return nil, invalid(a.origin, err)
	}
	tlsConfig, err := transport.TLSConfigFor(tc)
	if err != nil {
		return nil, unusable("the kubeconfig in %s cannot be used: its certificates cannot be read", a.origin)
	}
	dial := (&net.Dialer{Timeout: requestTimeout, KeepAliveConfig: keepAlive}).DialContext
	if tc.DialHolder != nil {
		dial = tc.DialHolder.Dial
	}
	c.transport = utilnet.SetTransportDefaults(&http.Transport{
		Proxy: tc.Proxy, DialContext: connrotation.NewDialerWithTracker(dial, c.conns).DialContext,
		TLSClientConfig: tlsConfig, TLSHandshakeTimeout: requestTimeout, DisableCompression: tc.DisableCompression,
	})
	wrapped, err := transport.HTTPWrappersForConfig(tc, c.transport)
	if err != nil {
		return nil, invalid(a.origin, err)
	}
	if a.program != nil {
		wrapped = abandoning{wrapped, a.program}
	}
	c.client = &http.Client{Transport: prompt{wrapped}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // an API server has no reason to send its callers elsewhere
	}}
	if c.dynamic, err = dynamic.NewForConfigAndClient(a.config, c.client); err != nil {
		return nil, invalid(a.origin, err)
	}
	return c, nil
}

func (c *connection) close() {
	c.conns.CloseAll()
	c.transport.CloseIdleConnections()
}

// withoutLogs keeps the client's libraries from writing logs: failures are returned in answers.
func withoutLogs(ctx context.Context) context.Context {
	return klog.NewContext(ctx, logr.Discard())
}

// get asks for a path and gives the answer's body where the answer is 200.
func (c *connection) get(ctx context.Context, path string, limit int64) (code int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path).String(), nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Accept", "application/json, */*")
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, limit))
	return response.StatusCode, body, err
}

// ready asks whether the API server is ready. A refusal to answer counts as ready, except when
// judging a new cluster: permitted is false then.
func (c *connection) ready(ctx context.Context) (permitted bool, err error) {
	code, body, err := c.get(ctx, "/readyz", 1<<10)
	switch {
	case err != nil:
		return false, fmt.Errorf("%s does not answer: %s", c.server, explain(err))
	case code == http.StatusOK && string(body) == "ok":
		return true, nil
	case code == http.StatusUnauthorized:
		return false, manifest.Problem{Reason: v1alpha1.ReasonCredentialsRefused, Message: fmt.Sprintf("%s refuses the credentials in %s", c.server, c.origin), Next: "Renew them"}
	case code == http.StatusForbidden:
		return false, nil
	case code == http.StatusOK:
		return false, manifest.Problem{Reason: v1alpha1.ReasonClusterNotReady, Message: c.server + " does not answer like an API server: /readyz says something else than ok"}
	}
	return false, manifest.Problem{Reason: v1alpha1.ReasonClusterNotReady, Message: fmt.Sprintf("%s is not ready: /readyz answers %d %s", c.server, code, http.StatusText(code))}
}

// errNoKind means that the API server does not know a kind.
var errNoKind = errors.New("the kind is not known to the API server")

// resourceOf finds how a kind is asked for: in the version, where it is served,
// else in the group's preferred one that has it.
func (c *connection) resourceOf(ctx context.Context, gvk schema.GroupVersionKind) (resource, error) {
	c.mu.Lock()
	known, ok := c.kinds[gvk]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	if gvk == secrets.GroupVersion().WithKind("Secret") {
		return resource{secrets, true}, nil
	}
	// Only a list of groups proves that one is not there: a path that is not found may have many
	// reasons.
	var groups metav1.APIGroupList
	if err := c.decode(ctx, "/apis", &groups); err != nil {
		return resource{}, err
	}
	for _, version := range versionsOf(groups, gvk) {
		var list metav1.APIResourceList
		if err := c.decode(ctx, "/apis/"+gvk.Group+"/"+version, &list); err != nil {
			return resource{}, err
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if r.Kind != gvk.Kind || strings.Contains(r.Name, "/") {
				continue // another kind, or a subresource
			}
			found := resource{schema.GroupVersionResource{Group: gvk.Group, Version: version, Resource: r.Name}, r.Namespaced}
			c.mu.Lock()
			c.kinds[gvk] = found
			c.mu.Unlock()
			return found, nil
		}
	}
	return resource{}, errNoKind
}

// versionsOf lists a group's versions in the order in which they are tried: the wished one, the
// preferred one, the others.
func versionsOf(groups metav1.APIGroupList, gvk schema.GroupVersionKind) []string {
	var wished, preferred, others []string
	for i := range groups.Groups {
		g := &groups.Groups[i]
		if g.Name != gvk.Group {
			continue
		}
		for _, v := range g.Versions {
			switch v.Version {
			case gvk.Version:
				wished = append(wished, v.Version)
			case g.PreferredVersion.Version:
				preferred = append(preferred, v.Version)
			default:
				others = append(others, v.Version)
			}
		}
	}
	return append(append(wished, preferred...), others...)
}

func (c *connection) forget(gvk schema.GroupVersionKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kinds, gvk)
}

func (c *connection) decode(ctx context.Context, path string, into any) error {
	code, body, err := c.get(ctx, path, 32<<20)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return fmt.Errorf("%s answers %d %s", path, code, http.StatusText(code))
	}
	return json.Unmarshal(body, into)
}

// object reads one object by name. It is not found only where the API server says
// so; errNoKind is such an answer too.
func (c *connection) object(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	r, err := c.resourceOf(ctx, gvk)
	if err != nil {
		return nil, err
	}
	object, err := c.read(ctx, r, namespace, name)
	if err != nil && unserved(err) {
		c.forget(gvk) // the kind or its version was removed: discover it again first
		if r, err = c.resourceOf(ctx, gvk); err != nil {
			return nil, err
		}
		object, err = c.read(ctx, r, namespace, name)
	}
	return object, err
}

func (c *connection) read(ctx context.Context, r resource, namespace, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if r.namespaced {
		return c.dynamic.Resource(r.gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	return c.dynamic.Resource(r.gvr).Get(ctx, name, metav1.GetOptions{})
}

// notFound reports whether the API server itself answered that an object is not there.
func notFound(err error) bool {
	return errors.Is(err, errNoKind) || apierrors.IsNotFound(err) && !unserved(err)
}

// unserved reports whether nothing is served at the path of a kind: the kind is not
// known, or it was no API server that answered.
func unserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
