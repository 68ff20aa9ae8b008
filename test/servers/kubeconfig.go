package servers

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeConfig makes the kubeconfig of a user who may do everything, with all certificates in it, and
// keeps it in <Dir>/kubeconfig/<user>. The audit log names the user.
func (c *Cluster) kubeConfig(user string) (content []byte, path string, err error) {
	if err := c.authority.issueAdmin(user); err != nil {
		return nil, "", err
	}
	var parts [3][]byte
	for i, file := range []string{c.authority.certFile("ca"), c.authority.certFile(user), c.authority.keyFile(user)} {
		if parts[i], err = os.ReadFile(file); err != nil {
			return nil, "", fmt.Errorf("read what the kubeconfig of %s holds: %w", user, err)
		}
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.URL, CertificateAuthorityData: parts[0]}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: parts[1], ClientKeyData: parts[2]}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user}
	config.CurrentContext = c.Name
	if content, err = clientcmd.Write(*config); err != nil {
		return nil, "", fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	path = filepath.Join(c.Dir, "kubeconfig", user)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return nil, "", fmt.Errorf("keep the kubeconfig of %s: %w", user, err)
	}
	return content, path, nil
}
