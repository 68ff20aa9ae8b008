package seed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

// reconcileState has the facts of one reconcile. Its fields are set in this order.
type reconcileState struct {
	cp fleet.ControlPlane
	// seeds are all existing Seeds of the control plane.
	seeds []v1alpha1.Seed
	// duplicates has the Seeds that another Seed on the cluster plants already, with its name.
	duplicates map[string]string
	fleet.Dispositions
	// docs are the resources other than Seeds.
	docs     []fleet.Document
	settings engine.Settings
	session  *session
	// handled has the requests that were handled up to this pass, by seed.
	handled map[string]v1alpha1.HandledRequests
}

// gather reads the resources that a pass starts from, all at its beginning: what changes during the
// pass is for the next one, which the change starts.
func (r *Reconciler) gather(ctx context.Context, cp fleet.ControlPlane) (*reconcileState, error) {
	s := &reconcileState{cp: cp, handled: map[string]v1alpha1.HandledRequests{}}
	var err error
	if s.seeds, err = fleet.Seeds(ctx, r.client, cp); err != nil || len(s.seeds) == 0 {
		return s, err
	}
	if s.duplicates, err = r.findDuplicates(ctx, s.seeds); err != nil {
		return nil, err
	}
	s.Dispositions = fleet.DispositionsOf(s.seeds, s.duplicates, r.options.Clock.Now())
	for i := range s.seeds {
		s.handled[s.seeds[i].Name] = s.seeds[i].Status.Handled
	}
	if s.docs, err = fleet.Documents(ctx, r.client, cp.Namespace); err != nil {
		return nil, err
	}
	s.session = r.sessions.of(cp)
	if s.settings, err = fleet.Settings(s.session.settings, cp.Namespace, s.Wanted, s.Removed, s.docs); err != nil {
		return nil, err
	}
	return s, nil
}

// findDuplicates returns the Seeds that an older Seed in another namespace plants: with the same
// tree and name, both would write the same branches.
func (r *Reconciler) findDuplicates(ctx context.Context, seeds []v1alpha1.Seed) (map[string]string, error) {
	var all v1alpha1.SeedList
	if err := r.client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing all Seeds: %w", err)
	}
	byName := map[string][]*v1alpha1.Seed{}
	for i := range all.Items {
		byName[all.Items[i].Name] = append(byName[all.Items[i].Name], &all.Items[i])
	}
	out := map[string]string{}
	for i := range seeds {
		for _, other := range byName[seeds[i].Name] {
			if other.Namespace != seeds[i].Namespace && fleet.SameTree(r.byURL(ctx, &seeds[i]), r.byURL(ctx, other)) && older(other, &seeds[i]) {
				out[seeds[i].Name] = client.ObjectKeyFromObject(other).String()
			}
		}
	}
	return out, nil
}

// byURL returns a Seed that names its tree by URL, if the URL is known.
func (r *Reconciler) byURL(ctx context.Context, seed *v1alpha1.Seed) *v1alpha1.Seed {
	cp := fleet.Of(seed)
	if cp.GitRepository == "" {
		return seed
	}
	at, err := fleet.Locate(ctx, r.client, cp)
	if err != nil && at.URL == "" {
		return seed
	}
	out := seed.DeepCopy()
	out.Spec.Source = &v1alpha1.SeedSource{URL: at.URL, Revision: at.Branch, Path: at.Path}
	return out
}

// older orders Seeds that would plant the same; of two from the same second, the namespace decides.
func older(a, b *v1alpha1.Seed) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Namespace < b.Namespace
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// ready opens the session of the pass, again if the location has changed.
func (r *Reconciler) ready(ctx context.Context, s *reconcileState) error {
	at, err := fleet.Locate(ctx, r.client, s.cp)
	if err == nil {
		err = at.ReadKeys(ctx, r.secrets, s.cp.Namespace)
	}
	if err != nil {
		return err
	}
	have := s.session
	have.settings, have.log = s.settings, ctrl.LoggerFrom(ctx)
	if have.open != nil && have.at == at {
		return nil
	}
	r.sessions.closeSession(have)
	opened, err := controlplane.Open(ctx, r.observed(r.sessionOptions(ctx, s, at), s.cp))
	if err != nil {
		return err
	}
	have.open, have.at = opened, at
	return nil
}

// sessionOptions returns how the session of a control plane is opened. Its context must not end
// with the pass: the session outlives it, and reads Secrets again later.
func (r *Reconciler) sessionOptions(ctx context.Context, s *reconcileState, at fleet.Location) controlplane.Options {
	have := s.session
	o := fleet.Options(context.WithoutCancel(ctx), r.secrets, r.client, s.cp.Namespace, at)
	o.Cache = r.cacheOf(s.cp)
	o.ID, o.Environment, o.DeletionGuard, o.Strict = r.options.ID, r.options.Environment, r.options.DeletionGuard, r.options.Strict
	o.AllowHTTP, o.Limits, o.Plugins = r.options.AllowHTTP, r.options.Limits, r.options.Plugins
	o.Channel, o.Now = r.channelOf(s.cp.Namespace), r.options.Clock.Now
	o.Progress = engine.Every(time.Minute, func(p engine.Progress) {
		have.log.Info("Pass in progress", "stage", p.Stage, "done", p.Done, "seeds", p.Total, "took", p.Took)
	})
	o.Settings = func(context.Context) (engine.Settings, error) { return have.settings, nil }
	if r.options.Record != nil {
		o.Record = r.options.Record(directoryOf(s.cp))
	}
	return o
}

// cacheOf returns the directory of a control plane's mirrors. No other control plane uses it, so it
// is deleted with the control plane.
func (r *Reconciler) cacheOf(cp fleet.ControlPlane) string {
	return filepath.Join(r.options.Cache, directoryOf(cp))
}

// directoryOf returns a directory that only one control plane uses, for what is kept of it.
func directoryOf(cp fleet.ControlPlane) string {
	return filepath.Join(cp.Namespace, digest(cp.String()+" "+cp.Credentials))
}

// needsPerson reports whether waiting does not fix an error.
func needsPerson(err error) bool {
	var status apierrors.APIStatus
	return !git.IsTransient(err) && !(errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// waitsForSecret reports whether a change of a Secret may fix an error. Secrets are not watched.
func (v view) waitsForSecret() bool {
	refused := func(err error) bool { return git.IsAuth(err) || errors.Is(err, fs.ErrNotExist) || git.IsUntrusted(err) }
	if v.report == nil {
		return refused(v.err)
	}
	for _, r := range v.report.Repos {
		if r.Err != nil && needsPerson(r.Err) {
			return true
		}
	}
	return refused(v.report.ReadErr)
}
