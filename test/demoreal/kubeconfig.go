package main

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/furrow-dev/furrow/test/servers"
)

// contexts makes one kubeconfig with a context for each cluster, named like it; the first one is
// the current one.
func contexts(clusters []*servers.Cluster) ([]byte, error) {
	merged := clientcmdapi.NewConfig()
	for _, cluster := range clusters {
		one, err := clientcmd.Load(cluster.KubeConfig)
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig of %s: %w", cluster.Name, err)
		}
		from := one.Contexts[one.CurrentContext]
		merged.Clusters[cluster.Name] = one.Clusters[from.Cluster]
		merged.AuthInfos[cluster.Name] = one.AuthInfos[from.AuthInfo]
		merged.Contexts[cluster.Name] = &clientcmdapi.Context{Cluster: cluster.Name, AuthInfo: cluster.Name}
		if merged.CurrentContext == "" {
			merged.CurrentContext = cluster.Name
		}
	}
	content, err := clientcmd.Write(*merged)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig: %w", err)
	}
	return content, nil
}

// writeKubeConfig updates the kubeconfig for people to the clusters that there are.
func (d *demonstration) writeKubeConfig(brought []*servers.Cluster) error {
	content, err := contexts(append([]*servers.Cluster{d.mgmt, d.siteA}, brought...))
	if err != nil {
		return err
	}
	return d.folder.write(content, "kubeconfig")
}
