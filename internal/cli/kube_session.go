package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/engine"
)

// kubeSession are the flags of commands that open a control plane as Seeds name it.
type kubeSession struct {
	session sessionFlags
	// ref is a branch of the control plane to read instead of the one that the Seeds name.
	ref string
}

func (k *kubeSession) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	k.session.addAccess(cmd, "directory with your own credentials, instead of the Secrets that the resources name; one directory for each set, that of the control plane called control-plane; or set FURROW_CREDENTIALS")
	flags.Var(textFlag(&k.session.options.ID, "", ownerPart), "id", "control-plane id that the controller was given, the first part of the owner of plans, where no ControlPlane document names it (default: the repository's name)")
	flags.Var(textFlag(&k.session.options.Environment, "default", ownerPart), "environment", "environment that the controller was given, the second part of the owner of plans")
	flags.BoolVar(&k.session.options.Strict, "strict", false, "make an error of a namespace or kind that no seed or cluster provides, and of a field that the schema of its kind refuses, as a controller with --strict does")
}

// open opens a control plane of the cluster, with the options that a controller would have: its
// location and settings from the resources, credentials from Secrets unless the user has others.
// What only the controller's flags say, such as its id, has to be given again.
func (k *kubeSession) open(ctx context.Context, c *kubeCluster, cp fleet.ControlPlane) (*controlplane.Session, error) {
	at, err := fleet.Locate(ctx, c, cp)
	if err == nil {
		err = at.ReadKeys(ctx, c, cp.Namespace)
	}
	if err != nil {
		return nil, err
	}
	own, err := k.session.resolved()
	if err != nil {
		return nil, err
	}
	o := fleet.Options(ctx, c, nil, cp.Namespace, at)
	o.Credentials = cmp.Or[controlplane.Credentials](own.Credentials, instead{o.Credentials})
	o.Cache, o.ID, o.Environment, o.Strict, o.AllowHTTP, o.Limits, o.Plugins, o.Now = own.Cache, own.ID, own.Environment, own.Strict, own.AllowHTTP, own.Limits, own.Plugins, c.now
	o.Settings = func(ctx context.Context) (engine.Settings, error) { return settings(ctx, c, cp) }
	if k.ref != "" && k.ref != o.Branch {
		// The plans belong to the branch that the Seeds name, whichever is read.
		o.PlansOf, o.Branch, o.Commit = o.Branch, k.ref, ""
	}
	return controlplane.Open(ctx, o)
}

// settings returns what the resources of a namespace say about a control plane, as the controller
// gathers it, but for duplicates of Seeds.
func settings(ctx context.Context, c *kubeCluster, cp fleet.ControlPlane) (engine.Settings, error) {
	seeds, err := fleet.Seeds(ctx, c, cp)
	if err != nil {
		return engine.Settings{}, err
	}
	docs, err := fleet.Documents(ctx, c, cp.Namespace)
	if err != nil {
		return engine.Settings{}, err
	}
	dispositions := fleet.DispositionsOf(seeds, nil, c.now())
	return fleet.Settings(engine.Settings{}, cp.Namespace, dispositions.Wanted, dispositions.Removed, docs)
}

// instead are credentials in Secrets, whose errors name the way round them.
type instead struct{ controlplane.Credentials }

// Set implements controlplane.Credentials.
func (i instead) Set(name string) (controlplane.Set, error) {
	set, err := i.Credentials.Set(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w, or name a directory with your own credentials with --credentials or FURROW_CREDENTIALS", err)
	}
	return set, err
}
