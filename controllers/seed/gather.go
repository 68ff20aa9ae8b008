package seed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/release"
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

// findDuplicates returns the Seeds that a Seed in another namespace plants: with the same tree, name and
// GitOps repository, both would write the same branches. Only a Seed that has planted counts, since
// anybody who may create Seeds can name any tree; of two that have, the older one. As long as none
// has, what is in Git decides, by owner and origin.
func (r *Reconciler) findDuplicates(ctx context.Context, seeds []v1alpha1.Seed) (map[string]string, error) {
	var all v1alpha1.SeedList
	if err := r.client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing all Seeds: %w", err)
	}
	planted := map[string][]*v1alpha1.Seed{}
	for i := range all.Items {
		if s := &all.Items[i]; hasPlanted(s) {
			planted[s.Name] = append(planted[s.Name], s)
		}
	}
	out := map[string]string{}
	for i := range seeds {
		seed := &seeds[i]
		for _, other := range planted[seed.Name] {
			if other.Namespace == seed.Namespace || hasPlanted(seed) && !older(other, seed) || !fleet.SameTree(r.byURL(ctx, seed), r.byURL(ctx, other)) {
				continue
			}
			shared, err := r.shareRepository(ctx, seed.Namespace, other)
			if err != nil {
				return nil, err
			}
			if shared {
				out[seed.Name] = client.ObjectKeyFromObject(other).String()
			}
		}
	}
	return out, nil
}

// plantedStates are those of tiers that have been proposed, at least.
var plantedStates = []release.State{release.Proposed, release.Outdated, release.Rejected, release.Reverted, release.Merged, release.Progressing, release.Failed, release.Released}

// hasPlanted reports whether a Seed has proposed or merged anything, and does not only say that it will.
func hasPlanted(seed *v1alpha1.Seed) bool {
	return seed.Status.Plan != nil && slices.ContainsFunc(seed.Status.Tiers, func(c v1alpha1.StateCount) bool {
		return c.Count > 0 && slices.Contains(plantedStates, release.State(c.State))
	})
}

// shareRepository reports whether a Seed has planted in a GitOps repository that Seeds of a namespace may
// use: one that their tree declares, or one of a GitOpsRepo resource there.
func (r *Reconciler) shareRepository(ctx context.Context, namespace string, other *v1alpha1.Seed) (bool, error) {
	theirs, err := r.repositories(ctx, other.Namespace)
	if err != nil {
		return false, err
	}
	mine, err := r.repositories(ctx, namespace)
	if err != nil {
		return false, err
	}
	for _, name := range other.Status.Plan.Repos {
		url, isResource := theirs[name]
		shares := func(of string) bool { return catalog.SameRepository(of, url) }
		if !isResource || slices.ContainsFunc(slices.Collect(maps.Values(mine)), shares) {
			return true, nil
		}
	}
	return false, nil
}

// repositories returns the URLs of the GitOpsRepo resources of a namespace, by name.
func (r *Reconciler) repositories(ctx context.Context, namespace string) (map[string]string, error) {
	var list v1alpha1.GitOpsRepoList
	if err := r.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the GitOpsRepos of namespace %s: %w", namespace, err)
	}
	out := map[string]string{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].Spec.URL
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
	o.Process, o.TakeOver = controlplane.Process("furrow controller"), r.options.TakeOver
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
