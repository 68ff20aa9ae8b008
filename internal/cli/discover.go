package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/probe/discover"
)

// discoverTime bounds one answer of the API server.
const discoverTime = 30 * time.Second

func newDiscover() *cobra.Command {
	f := &kubeFlags{}
	cmd := &cobra.Command{
		Use:   "discover CLUSTER",
		Short: "Print what a cluster has although no seed contains it, as a Cluster document",
		Long: `Discover reads a cluster through its kubeconfig, and prints a Cluster document with
spec.provides: the release of Kubernetes, API versions, CustomResourceDefinitions, the
kinds of custom resources by their scope, Namespaces with their labels, classes and
networks that objects may name, and webhook configurations that fail closed. What a
seed has planted is left out. Commit what it prints to the control-plane repository, in
the cluster's document: plans are made of that.`,
		Example: `  furrow discover edge-eu-1 --kubeconfig kubeconfigs/edge-eu-1`,
		Args:    exactly(1, "the name of one cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := dnsLabel(args[0]); err != nil {
				return usageError{fmt.Errorf("the name of the cluster: %w", err)}
			}
			return f.discover(cmd, args[0])
		},
	}
	cmd.Flags().Var(textFlag(&f.kubeconfig, "", existingFile), "kubeconfig", "kubeconfig file to use (default: those of KUBECONFIG, else ~/.kube/config)")
	cmd.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig to use")
	files(cmd, "kubeconfig")
	return cmd
}

// discover prints the document of a cluster.
func (f *kubeFlags) discover(cmd *cobra.Command, name string) error {
	config, err := f.clientConfig()
	if err != nil {
		return err
	}
	config.Timeout = discoverTime
	provides, err := discover.Provides(cmd.Context(), config, name)
	if err != nil {
		return (&kubeCluster{host: config.Host}).explainAPIError(err)
	}
	text, err := yaml.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]string `json:"metadata"`
		Spec            map[string]any    `json:"spec"`
	}{metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: "Cluster"}, map[string]string{"name": name}, map[string]any{"provides": provides}})
	if err == nil {
		_, err = cmd.OutOrStdout().Write(text)
	}
	return err
}
