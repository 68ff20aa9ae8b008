package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/furrow-dev/furrow/test/servers"
)

const (
	// providerFinalizer keeps a Cluster until its servers are gone.
	providerFinalizer = "demo.furrow.dev/provider"
	// providerEvery is how often the provider checks.
	providerEvery = 300 * time.Millisecond
	// providerPatience bounds what it asks of clusters.
	providerPatience = 5 * time.Second
	// machineTime is how long a new cluster waits for its machines.
	machineTime = 3 * time.Second
)

var clusterKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}

// provider simulates Cluster API: it starts servers for each Cluster object on mgmt, leaves the
// kubeconfig in a Secret, and reports its progress in the object's status. Only its goroutine works
// on clusters; mu guards the list of them.
type provider struct {
	mgmt   client.Client
	folder *folder
	say    func(cluster, did, format string, args ...any)
	// changed is called with the clusters that run when there are others.
	changed func(running []*servers.Cluster) error

	end  context.CancelFunc
	done sync.WaitGroup
	// reported is the last state reported for a cluster.
	reported map[client.ObjectKey]string

	mu    sync.Mutex
	edges map[client.ObjectKey]*servers.Cluster
}

// startProvider lets Cluster objects create clusters until ctx ends.
func (d *demonstration) startProvider(parent context.Context) {
	ctx, end := context.WithCancel(parent)
	d.provider = &provider{
		mgmt: d.mgmt.Client(), folder: d.folder, changed: d.writeKubeConfig, end: end,
		say: func(cluster, did, format string, args ...any) {
			d.screen.say("provider", cluster, did, format, args...)
		},
		reported: map[client.ObjectKey]string{}, edges: map[client.ObjectKey]*servers.Cluster{},
	}
	d.provider.done.Go(func() {
		if err := d.provider.work(ctx); err != nil {
			d.fail(fmt.Errorf("the provider of clusters: %w", err))
		}
	})
}

// work attends to all Cluster objects, over and over. What can pass is tried again.
func (p *provider) work(ctx context.Context) error {
	every := time.NewTicker(providerEvery)
	defer every.Stop()
	for {
		err := p.attendAll(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}

// passing reports whether an error is worth another try: a server does not answer at the moment, or
// somebody was quicker.
func passing(err error) bool {
	var status apierrors.APIStatus
	var start *startError
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || !errors.As(err, &status) && !errors.As(err, &start)
}

// startError means that the servers of a cluster do not start.
type startError struct{ error }

func (e *startError) Unwrap() error { return e.error }

// attendAll attends to all Cluster objects, one after the other, by a fresh list.
func (p *provider) attendAll(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(clusterKind.GroupVersion().WithKind(clusterKind.Kind + "List"))
	short, cancel := context.WithTimeout(ctx, providerPatience)
	defer cancel()
	if err := p.mgmt.List(short, list); err != nil {
		return err
	}
	for i := range list.Items {
		if err := p.attend(ctx, &list.Items[i]); err != nil {
			return fmt.Errorf("cluster %s: %w", list.Items[i].GetName(), err)
		}
	}
	return nil
}

// attend does the next step for one Cluster, and leaves the rest to the next round: each round
// decides by what there is, so a demo that is continued goes on wherever it was.
func (p *provider) attend(ctx context.Context, object *unstructured.Unstructured) error {
	short, cancel := context.WithTimeout(ctx, providerPatience)
	defer cancel()
	key := client.ObjectKeyFromObject(object)
	cluster := p.cluster(key)
	switch {
	case object.GetDeletionTimestamp() != nil:
		return p.remove(ctx, object, cluster)
	case !controllerutil.ContainsFinalizer(object, providerFinalizer):
		before := object.DeepCopy()
		controllerutil.AddFinalizer(object, providerFinalizer)
		return p.mgmt.Patch(short, object, client.MergeFrom(before))
	case cluster == nil && time.Since(object.GetCreationTimestamp().Time) < machineTime:
		p.announce(key, "Requested", "its machines take some seconds")
		return p.report(short, object, nil)
	case cluster == nil:
		p.announce(key, "Starting", "an API server and two nodes")
		return p.start(ctx, key)
	}
	if err := p.leaveKubeConfig(short, key, cluster); err != nil {
		return err
	}
	return p.report(short, object, cluster)
}

// start starts the servers of a Cluster.
func (p *provider) start(ctx context.Context, key client.ObjectKey) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cluster, err := servers.StartCluster(ctx, servers.ClusterOptions{Name: key.Name, Dir: p.dir(key), Nodes: 2})
	if err != nil {
		return &startError{err}
	}
	if err := p.set(key, cluster); err != nil {
		return err
	}
	p.announce(key, "Running", reached(cluster))
	return nil
}

func (p *provider) dir(key client.ObjectKey) string {
	return p.folder.path("edges", key.Namespace, key.Name)
}

// leaveKubeConfig leaves the kubeconfig where Cluster API does, with the label that lets Flux take
// it up at once.
func (p *provider) leaveKubeConfig(ctx context.Context, key client.ObjectKey, cluster *servers.Cluster) error {
	err := p.mgmt.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: secretName(key),
			Labels: map[string]string{"cluster.x-k8s.io/cluster-name": key.Name, "reconcile.fluxcd.io/watch": "Enabled"},
		},
		Type: "cluster.x-k8s.io/secret",
		Data: map[string][]byte{"value": cluster.KubeConfig},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func secretName(key client.ObjectKey) string { return key.Name + "-kubeconfig" }

// remove ends the servers of a Cluster that is being deleted, and lets it go. The finalizer goes
// last, so the object is there as long as anything of the cluster is. A folder or server that
// cannot be removed ends the demo.
func (p *provider) remove(ctx context.Context, object *unstructured.Unstructured, cluster *servers.Cluster) error {
	key := client.ObjectKeyFromObject(object)
	if cluster != nil {
		p.announce(key, "Deleting", "its servers are being stopped")
		if err := p.set(key, nil); err != nil {
			return err
		}
		if err := cluster.Stop(); err != nil {
			return &startError{err}
		}
	}
	if err := os.RemoveAll(p.dir(key)); err != nil {
		return &startError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, providerPatience)
	defer cancel()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: secretName(key)}}
	if err := p.mgmt.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return err
	}
	before := object.DeepCopy()
	if !controllerutil.RemoveFinalizer(object, providerFinalizer) {
		return nil
	}
	if err := p.mgmt.Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	p.announce(key, "Deleted", "its servers and its object are gone")
	return nil
}

// announce prints each state of a cluster once.
func (p *provider) announce(key client.ObjectKey, did, message string) {
	if p.reported[key] != did {
		p.reported[key] = did
		p.say(key.Name, did, "%s", message)
	}
}

// cluster is that of a Cluster object, or nil while it does not run.
func (p *provider) cluster(key client.ObjectKey) *servers.Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.edges[key]
}

// set notes that a cluster runs, or with nil that it does not.
func (p *provider) set(key client.ObjectKey, cluster *servers.Cluster) error {
	p.mu.Lock()
	if cluster == nil {
		delete(p.edges, key)
	} else {
		p.edges[key] = cluster
	}
	p.mu.Unlock()
	return p.changed(p.running())
}

// running returns the clusters that run, by name.
func (p *provider) running() []*servers.Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.edges), func(a, b *servers.Cluster) int { return strings.Compare(a.Name, b.Name) })
}

// stop ends the provider and its clusters; the objects stay as they are.
func (p *provider) stop() error {
	p.end()
	p.done.Wait()
	var stops []func() error
	for _, cluster := range p.running() {
		stops = append(stops, cluster.Stop)
	}
	return together(stops...)
}
