package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

func newKubeSuspend(f *kubeFlags) *cobra.Command {
	return newKubeSwitch(f, true, &cobra.Command{
		Use:   "suspend SEED",
		Short: "Stop new proposals; what was proposed stays open",
		Long: `Suspend sets spec.suspend of a Seed. Nothing new is proposed; what was proposed stays open,
and what is merged meanwhile is still followed.

Where another manager sets spec.suspend too, such as a Kustomization of Flux, it says so: that
one has the last word, and the change belongs in its repository.`,
		Example: "  kubectl furrow suspend edge-5g",
	})
}

func newKubeResume(f *kubeFlags) *cobra.Command {
	return newKubeSwitch(f, false, &cobra.Command{
		Use:   "resume SEED",
		Short: "Go on with new proposals",
		Long: `Resume takes spec.suspend out of a Seed. A Seed document in the control-plane tree may suspend
the seed, too: that is undone there.

Where another manager sets spec.suspend, such as a Kustomization of Flux, it says so.`,
		Example: "  kubectl furrow resume edge-5g",
	})
}

// newKubeSwitch makes a command that sets spec.suspend, by a patch of that field.
func newKubeSwitch(f *kubeFlags, suspend bool, cmd *cobra.Command) *cobra.Command {
	cmd.Args = exactly(1, "the name of one Seed")
	cmd.ValidArgsFunction = f.completeSeeds
	cmd.RunE = f.with(func(cmd *cobra.Command, c *kubeCluster, args []string) error {
		seed, err := c.seed(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		verb := map[bool]string{true: "suspended", false: "resumed"}[suspend]
		if seed.Spec.Suspend == suspend {
			state := map[bool]string{true: "suspended", false: "not suspended"}[suspend]
			fmt.Fprintf(cmd.OutOrStdout(), "Seed %s is %s already.\n", seed.Name, state)
			return nil
		}
		was := seed.DeepCopy()
		seed.Spec.Suspend = suspend
		if err := c.Patch(cmd.Context(), seed, client.MergeFrom(was), client.FieldOwner(kubeManager)); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Seed %s is %s.\n", seed.Name, verb)
		warnOfOwner(cmd.ErrOrStderr(), was)
		return nil
	})
	return cmd
}

// fluxLabel is on what a Kustomization of Flux applies.
const fluxLabel = "kustomize.toolkit.fluxcd.io/"

// warnOfOwner says who sets spec.suspend back to what it was.
func warnOfOwner(w io.Writer, seed *v1alpha1.Seed) {
	owner := suspendOwner(seed)
	kustomization := seed.Labels[fluxLabel+"name"]
	switch {
	case kustomization != "" && owner != "":
		fmt.Fprintf(w, "Warning: spec.suspend is set by Kustomization %s/%s of Flux, which will set it back. Change it in the repository that this applies.\n", seed.Labels[fluxLabel+"namespace"], kustomization)
	case kustomization != "":
		fmt.Fprintf(w, "Note: Kustomization %s/%s of Flux applies this Seed. It leaves spec.suspend alone as long as its repository does not set it.\n", seed.Labels[fluxLabel+"namespace"], kustomization)
	case owner != "":
		fmt.Fprintf(w, "Warning: %q applies spec.suspend, and may set it back. Change it where that takes it from.\n", owner)
	}
}

// suspendOwner returns the manager, other than us, that applies spec.suspend, as the managed fields
// of server-side apply have it; empty if there is none. It has the last word, because it applies
// the field again. Managers that updated it once do not.
func suspendOwner(seed *v1alpha1.Seed) string {
	for _, m := range seed.ManagedFields {
		if m.Manager == kubeManager || m.Operation != metav1.ManagedFieldsOperationApply || m.FieldsV1 == nil {
			continue
		}
		if strings.Contains(m.FieldsV1.GetRawString(), `"f:suspend"`) { // no other field is called so
			return m.Manager
		}
	}
	return ""
}
