package cli

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
)

// mustComplete says what a flag of the command is completed with.
func mustComplete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err) // the flag does not exist: a mistake that every test finds
	}
}

// files completes a flag with files, all or those with some extensions.
func files(cmd *cobra.Command, flag string, extensions ...string) {
	mustComplete(cmd, flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(extensions) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	})
}

// directories completes flags with directories.
func directories(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		mustComplete(cmd, flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		})
	}
}

// completeSeeds returns the names of the seeds of a control plane that is a directory; a repository
// elsewhere is not fetched for it.
func (f *sessionFlags) completeSeeds(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	options, err := f.resolved()
	if err != nil || len(args) > 0 || options.ControlPlane == "" || strings.Contains(options.ControlPlane, "://") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := map[string]bool{}
	entries, _ := os.ReadDir(filepath.Join(options.ControlPlane, options.Path, catalog.SeedsDir))
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() {
			name = strings.TrimSuffix(name, filepath.Ext(name))
		}
		names[name] = !strings.HasPrefix(name, ".")
	}
	maps.DeleteFunc(names, func(_ string, shown bool) bool { return !shown })
	return slices.Sorted(maps.Keys(names)), cobra.ShellCompDirectiveNoFileComp
}

// completeObjects returns the ids of the objects of a control plane that is a directory, without what
// renderers or plugins would make of them: those are not run for a completion.
func (f *sessionFlags) completeObjects(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	options, err := f.resolved()
	if err != nil || len(args) > 0 || options.ControlPlane == "" || strings.Contains(options.ControlPlane, "://") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	tree, err := controlplane.Below(os.DirFS(options.ControlPlane), options.Path, options.ControlPlane)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cat, err := catalog.Load(tree)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids := map[string]bool{}
	for _, s := range cat.Seeds {
		for _, o := range s.Objects() {
			ids[o.ID.String()] = true
		}
	}
	return slices.Sorted(maps.Keys(ids)), cobra.ShellCompDirectiveNoFileComp
}

// completeProposals returns the names of the proposals of a control plane; none where its
// repositories do not answer in time.
func (f *sessionFlags) completeProposals(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
	defer cancel()
	s, err := f.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	all, err := proposals(ctx, s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := map[string]bool{}
	for _, l := range all {
		names[l.shortName()] = true
	}
	return slices.Sorted(maps.Keys(names)), cobra.ShellCompDirectiveNoFileComp
}

// completionLimit bounds how long the shell waits for servers.
const completionLimit = 3 * time.Second

// completeFrom completes with what is found through the API server; with nothing if it cannot be
// asked. A completion never prints an error: it would be in the line that is being typed.
func (f *kubeFlags) completeFrom(cmd *cobra.Command, names func(context.Context, *kubeCluster, map[string]bool) error) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
	defer cancel()
	c, err := f.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found := map[string]bool{}
	if names(ctx, c, found) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(found)), cobra.ShellCompDirectiveNoFileComp
}

// completeSeeds returns the names of the Seeds.
func (f *kubeFlags) completeSeeds(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.completeFrom(cmd, func(ctx context.Context, c *kubeCluster, found map[string]bool) error {
		var list v1alpha1.SeedList
		err := c.List(ctx, &list, c.in()...)
		for i := range list.Items {
			found[list.Items[i].Name] = true
		}
		return err
	})
}

// completeClusters returns the names of the clusters that have plantings.
func (f *kubeFlags) completeClusters(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.completeFrom(cmd, func(ctx context.Context, c *kubeCluster, found map[string]bool) error {
		var list v1alpha1.PlantingList
		err := c.List(ctx, &list, c.in()...)
		for i := range list.Items {
			found[list.Items[i].Spec.Cluster] = true
		}
		return err
	})
}

// completeNamespaces returns the namespaces that have Seeds.
func (f *kubeFlags) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.completeFrom(cmd, func(ctx context.Context, c *kubeCluster, found map[string]bool) error {
		var list v1alpha1.SeedList
		err := client.Reader(c).List(ctx, &list)
		for i := range list.Items {
			found[list.Items[i].Namespace] = true
		}
		return err
	})
}

// completeContexts returns the contexts of the kubeconfig.
func (f *kubeFlags) completeContexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, err := f.config().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
