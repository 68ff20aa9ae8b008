package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/furrow-dev/furrow/test/servers"
)

var clusterKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}

// providerFinalizer keeps a Cluster until its servers are gone.
const providerFinalizer = "e2e.furrow.dev/provider"

// provider starts a cluster for each Cluster object of a story, as the Cluster API's controllers do: it starts the servers,
// writes the kubeconfig to a Secret, and reports the progress in the object's status. A cluster is Available only once its
// network add-on is, which somebody else has to install.
type provider struct {
	story *story
	// addOn is the Deployment of the network add-on on each cluster.
	addOn  client.ObjectKey
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex
	edges map[client.ObjectKey]*edge
	// held keeps ready clusters from being reported as initialized.
	held bool
	errs []error
}

// edge is a cluster that a seed creates.
type edge struct {
	// cluster is nil until it runs; it is kept after it was stopped, for its audit log.
	cluster *servers.Cluster
	// initialized means that the Cluster's status has it. began and reported are the times at which the cluster was created
	// and at which it was reported as initialized; both are zero for a cluster that existed before.
	initialized     bool
	began, reported time.Time
	// gone means that the Cluster was deleted and the servers are stopped.
	gone bool
	// shared means that other stories use the cluster too: it is not stopped with this one.
	shared bool
}

// provideClusters starts the story's provider.
func (s *story) provideClusters(addOn client.ObjectKey) {
	ctx, cancel := context.WithCancel(context.Background())
	s.provider = &provider{story: s, addOn: addOn, cancel: cancel, edges: map[client.ObjectKey]*edge{}}
	s.provider.done.Go(func() { s.provider.watch(ctx) })
}

// watch polls for Cluster objects, and starts a goroutine for each.
func (p *provider) watch(ctx context.Context) {
	every := time.NewTicker(tick)
	defer every.Stop()
	attended := map[client.ObjectKey]bool{}
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(clusterKind.GroupVersion().WithKind("ClusterList"))
		if err := p.mgmt().List(ctx, list); err == nil {
			for i := range list.Items {
				key := client.ObjectKeyFromObject(&list.Items[i])
				if p.story.owns(key.Namespace) && !attended[key] {
					attended[key] = true
					p.done.Go(func() { p.attend(ctx, key) })
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

func (p *provider) mgmt() client.Client { return p.story.world.mgmt.Client() }

// attend reconciles one Cluster until the provider ends. The Cluster may be deleted and created again.
func (p *provider) attend(ctx context.Context, key client.ObjectKey) {
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(clusterKind)
		err := p.mgmt().Get(ctx, key, object)
		if err == nil {
			err = p.reconcile(ctx, key, object)
		}
		if err != nil && !passing(err) && ctx.Err() == nil {
			p.mu.Lock()
			p.errs = append(p.errs, fmt.Errorf("provider of %s: %w", key, err))
			p.mu.Unlock()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// passing reports whether an error is transient.
func passing(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || !errors.As(err, &status)
}

// reconcile does the next step for a Cluster.
func (p *provider) reconcile(ctx context.Context, key client.ObjectKey, object *unstructured.Unstructured) error {
	if object.GetDeletionTimestamp() != nil {
		return p.remove(ctx, key, object)
	}
	if !controllerutil.ContainsFinalizer(object, providerFinalizer) {
		before := object.DeepCopy()
		controllerutil.AddFinalizer(object, providerFinalizer)
		return p.mgmt().Patch(ctx, object, client.MergeFrom(before))
	}
	cluster, err := p.ensure(ctx, key)
	if err != nil {
		return err
	}
	if err := p.leaveKubeConfig(ctx, key, cluster); err != nil {
		return err
	}
	return p.updateStatus(ctx, key, object)
}

// ensure starts the servers of a Cluster that has none.
func (p *provider) ensure(ctx context.Context, key client.ObjectKey) (*servers.Cluster, error) {
	p.mu.Lock()
	e := p.edges[key]
	if e == nil || e.gone {
		e = &edge{began: time.Now()}
		p.edges[key] = e
	}
	cluster := e.cluster
	p.mu.Unlock()
	if cluster != nil {
		return cluster, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cluster, err := servers.StartCluster(ctx, servers.ClusterOptions{
		Name: key.Name, Dir: filepath.Join(p.story.dir, "clusters", key.Namespace, key.Name), Nodes: 1, Audit: true,
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	e.cluster = cluster
	return cluster, err
}

func (p *provider) leaveKubeConfig(ctx context.Context, key client.ObjectKey, cluster *servers.Cluster) error {
	p.mu.Lock()
	kubeConfig := cluster.KubeConfig
	p.mu.Unlock()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name + "-kubeconfig",
			Labels: map[string]string{"cluster.x-k8s.io/cluster-name": key.Name},
		},
		Type: "cluster.x-k8s.io/secret",
		Data: map[string][]byte{"value": kubeConfig},
	}
	if err := p.mgmt().Create(ctx, secret); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// updateStatus updates the Cluster's status.
func (p *provider) updateStatus(ctx context.Context, key client.ObjectKey, object *unstructured.Unstructured) error {
	p.mu.Lock()
	held, e := p.held, p.edges[key]
	p.mu.Unlock()
	if held && !e.initialized {
		return nil
	}
	before := object.DeepCopy()
	available := "False"
	if p.hasNetwork(ctx, key) {
		available = "True"
	}
	since := metav1.Now().UTC().Format(time.RFC3339)
	if had, found, _ := unstructured.NestedSlice(object.Object, "status", "conditions"); found && len(had) == 1 {
		if condition, ok := had[0].(map[string]any); ok && condition["status"] == available {
			since, _ = condition["lastTransitionTime"].(string)
		}
	}
	object.Object["status"] = map[string]any{
		"observedGeneration": object.GetGeneration(),
		"phase":              "Provisioned",
		"initialization":     map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true},
		"conditions": []any{map[string]any{
			"type": "Available", "status": available, "reason": "Network", "message": "", "lastTransitionTime": since,
		}},
	}
	p.markInitialized(key)
	patch := client.MergeFrom(before)
	if data, err := patch.Data(object); err != nil || string(data) == "{}" {
		return err
	}
	return p.mgmt().Status().Patch(ctx, object, patch)
}

// markInitialized records that a cluster is about to be reported as initialized. It is called before the write, because
// others may react to the write before it returns.
func (p *provider) markInitialized(key client.ObjectKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.edges[key]; !e.initialized {
		e.initialized, e.reported = true, time.Now()
	}
}

// tooSoon reports whether Flux sent a request to a cluster before it was reported as initialized.
func (p *provider) tooSoon(name string, event servers.AuditEvent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.named(name)
	return e != nil && byFlux(event) && event.Received.After(e.began) && (!e.initialized || event.Received.Before(e.reported))
}

func (p *provider) hasNetwork(ctx context.Context, key client.ObjectKey) bool {
	reader := p.client(key.Name)
	if reader == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var network appsv1.Deployment
	if err := reader.Get(ctx, p.addOn, &network); err != nil {
		return false
	}
	for _, condition := range network.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// remove stops the servers of a Cluster that is being deleted, and removes its finalizer.
func (p *provider) remove(ctx context.Context, key client.ObjectKey, object *unstructured.Unstructured) error {
	p.mu.Lock()
	e := p.edges[key]
	p.mu.Unlock()
	if e != nil && e.cluster != nil && !e.gone {
		if err := e.cluster.Stop(); err != nil {
			return err
		}
		p.mu.Lock()
		e.gone = true
		p.mu.Unlock()
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name + "-kubeconfig"}}
	if err := p.mgmt().Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return err
	}
	before := object.DeepCopy()
	if !controllerutil.RemoveFinalizer(object, providerFinalizer) {
		return nil
	}
	return client.IgnoreNotFound(p.mgmt().Patch(ctx, object, client.MergeFrom(before)))
}

// hold sets whether new clusters are kept from being reported as initialized.
func (p *provider) hold(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = held
}

// named returns the edge of this name; a story has at most one at a time.
func (p *provider) named(name string) *edge {
	for key, e := range p.edges {
		if key.Name == name {
			return e
		}
	}
	return nil
}

// cluster returns the cluster of this name, or nil until it runs.
func (p *provider) cluster(name string) *servers.Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.named(name); e != nil {
		return e.cluster
	}
	return nil
}

// client returns a client of the cluster of this name, or nil while it does not run.
func (p *provider) client(name string) client.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.named(name); e != nil && e.cluster != nil && !e.gone {
		return e.cluster.Client()
	}
	return nil
}

// running returns clients of the running clusters by name.
func (p *provider) running() map[string]client.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	clients := map[string]client.Client{}
	for key, e := range p.edges {
		if e.cluster != nil && !e.gone {
			clients[key.Name] = e.cluster.Client()
		}
	}
	return clients
}

// initialized reports whether the cluster of this name was reported as initialized.
func (p *provider) initialized(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.named(name)
	return e != nil && e.initialized && !e.gone
}

// all returns all clusters by name, including stopped ones.
func (p *provider) all() map[string]*servers.Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	clusters := map[string]*servers.Cluster{}
	for key, e := range p.edges {
		if e.cluster != nil {
			clusters[key.Name] = e.cluster
		}
	}
	return clusters
}

// wipe replaces a cluster by an empty one with the same address and certificates.
func (p *provider) wipe(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.named(name)
	if e == nil || e.cluster == nil {
		return fmt.Errorf("there is no cluster %s", name)
	}
	return e.cluster.Wipe(ctx)
}

// scene shows the clusters.
func (p *provider) scene() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(p.edges), func(a, b client.ObjectKey) int { return strings.Compare(a.String(), b.String()) }) {
		e := p.edges[key]
		fmt.Fprintf(&b, "  %s runs=%t initialized=%t gone=%t\n", key, e.cluster != nil, e.initialized, e.gone)
	}
	for _, err := range p.errs {
		fmt.Fprintf(&b, "  %v\n", err)
	}
	return b.String()
}

// end stops the provider and its clusters.
func (p *provider) end() {
	p.cancel()
	p.done.Wait()
	t := p.story.t
	for _, err := range p.errs {
		t.Error(err)
	}
	for key, e := range p.edges {
		if e.cluster == nil || e.shared {
			continue
		}
		if err := e.cluster.Stop(); err != nil {
			t.Errorf("stop cluster %s: %v", key, err)
		}
		if t.Failed() {
			t.Log("logs:", keepLogs(p.story.name, key.Name, filepath.Join(e.cluster.Dir, "logs")))
		}
	}
}
