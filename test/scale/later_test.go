package scale

import (
	"context"
	"fmt"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/test/servers"
)

// TestAPushStartsAPassIfFluxIsInstalledLater installs Flux's CRDs while the controllers run. No pass starts by itself.
func TestAPushStartsAPassIfFluxIsInstalledLater(t *testing.T) {
	server := apiServer(t)
	servers.Need(t, servers.SourceController)
	e := newEstate(t, server, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := e.start(t.TempDir())
	c.rest(ctx)
	crds, err := servers.CRDs(servers.SourceController)
	if err == nil {
		err = server.Apply(ctx, crds)
	}
	if err != nil {
		t.Fatal(err)
	}
	repository := &sourcev1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "control"},
		Spec: sourcev1.GitRepositorySpec{
			URL: e.git.address("control"), Interval: metav1.Duration{Duration: time.Hour}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		},
	}
	until(ctx, t, "Flux's kinds are served", func() error { return e.client.Create(ctx, repository) })
	seed := &v1alpha1.Seed{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "another"},
		Spec:       v1alpha1.SeedSpec{Source: &v1alpha1.SeedSource{GitRepositoryRef: &v1alpha1.LocalReference{Name: repository.Name}}},
	}
	e.create(seed)
	until(ctx, t, "the seed was read", func() error {
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(seed), seed); err != nil || seed.Status.WaitingFor != "" {
			return err
		}
		return fmt.Errorf("its status is %+v", seed.Status)
	})
	pushes := 0
	until(ctx, t, "a push that Flux fetched is followed by a pass", func() error {
		before := c.meter.count()
		pushes++
		fetched := repository.DeepCopy()
		fetched.Status.Artifact = &fluxmeta.Artifact{
			Path: "a", URL: "http://a", Revision: fmt.Sprintf("main@sha1:%040d", pushes), Digest: fmt.Sprintf("sha256:%064d", pushes), LastUpdateTime: metav1.Now(),
		}
		if err := e.client.Status().Patch(ctx, fetched, client.MergeFrom(repository)); err != nil {
			return err
		}
		soon, done := context.WithTimeout(ctx, 5*time.Second)
		defer done()
		return servers.Until(soon, "a pass", func(context.Context) error {
			if c.meter.count() == before {
				return fmt.Errorf("no pass after %d pushes", pushes)
			}
			return nil
		})
	})
}

// until waits until check succeeds.
func until(ctx context.Context, t *testing.T, what string, check func() error) {
	t.Helper()
	if err := servers.Until(ctx, what, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}
