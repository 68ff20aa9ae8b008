package flux

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// access is what a cluster is reached with: a kubeconfig, read and checked, and where it came from.
type access struct {
	config *rest.Config
	// origin names where the kubeconfig came from, in messages.
	origin string
	// digest is that of the kubeconfig; another one means that it changed. It is zero
	// where there is none.
	digest [sha256.Size]byte
	// source says where the kubeconfig was found.
	source kubeConfigSource
	// program is what the kubeconfig names to be run for credentials; nil where there is none.
	program *program
}

// suffixes are those of a kubeconfig's file, in the order in which they are tried.
var suffixes = []string{"", ".yaml", ".yml", ".kubeconfig", ".conf"}

// maxKubeConfig bounds a kubeconfig, in bytes.
const maxKubeConfig = 1 << 20

// isName reports whether a cluster has a name that can be that of a file or of an object.
func isName(cluster string) bool {
	return cluster != "" && !strings.HasPrefix(cluster, ".") && !strings.ContainsAny(cluster, `/\`)
}

// readFile reads the file of a cluster; ok is false if there is none. An error is of a file that is
// there.
func readFile(directory, cluster string) (name string, data []byte, ok bool, err error) {
	if directory == "" || !isName(cluster) {
		return "", nil, false, nil
	}
	for _, suffix := range suffixes {
		name = filepath.Join(directory, cluster+suffix)
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err == nil && info.Size() > maxKubeConfig {
			err = errors.New("it is too large for a kubeconfig")
		}
		if err == nil {
			data, err = os.ReadFile(name)
		}
		return name, data, true, err
	}
	return "", nil, false, nil
}

// Files returns the kubeconfigs in the channel's directory, by the name of the cluster that each is
// for; none while the directory cannot be read.
func (ch *Channel) Files() map[string]string {
	entries, _ := os.ReadDir(ch.options.Directory)
	files := map[string]string{}
	for _, entry := range entries {
		file := filepath.Join(ch.options.Directory, entry.Name())
		info, err := os.Stat(file) // a Secret is mounted as symbolic links
		if err != nil || !info.Mode().IsRegular() || !isName(entry.Name()) {
			continue
		}
		cluster := entry.Name()
		for _, suffix := range suffixes[1:] {
			if name, ok := strings.CutSuffix(cluster, suffix); ok {
				cluster = name
				break
			}
		}
		files[cluster] = file
	}
	return files
}

// fromFile reads a kubeconfig that belongs to the user who runs this process.
func fromFile(name string, data []byte) (*access, error) {
	origin := "file " + name
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, invalid(origin, err)
	}
	for _, cluster := range config.Clusters {
		cluster.LocationOfOrigin = name
	}
	for _, user := range config.AuthInfos {
		user.LocationOfOrigin = name
	}
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return nil, invalid(origin, err)
	}
	return newAccess(config, origin, data)
}

// fromSecret reads a kubeconfig that somebody wrote into a Secret. Its author is
// believed what the cluster's address and credentials are; it must not make this
// process run programs or read files.
func fromSecret(origin string, data []byte) (*access, error) {
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, invalid(origin, err)
	}
	if err := refuseExecAndFiles(config); err != nil {
		return nil, manifest.Problem{Reason: v1alpha1.ReasonKubeConfigRefused, Message: fmt.Sprintf("the kubeconfig in %s is refused: %v", origin, err), Next: "Use certificate-authority-data, client-certificate-data, client-key-data or token"}
	}
	return newAccess(config, origin, data)
}

// refuseExecAndFiles refuses what would run programs or read files. Whoever may write a Secret on some
// cluster would otherwise run programs here, or have files of this process sent as credentials to a
// server of their choice.
func refuseExecAndFiles(config *clientcmdapi.Config) error {
	for _, cluster := range config.Clusters {
		if cluster.CertificateAuthority != "" {
			return errors.New("certificate-authority names a file")
		}
	}
	for _, user := range config.AuthInfos {
		switch {
		case user.Exec != nil:
			return errors.New("it has an exec plugin")
		case user.AuthProvider != nil:
			return errors.New("it has an auth-provider")
		case user.ClientCertificate != "":
			return errors.New("client-certificate names a file")
		case user.ClientKey != "":
			return errors.New("client-key names a file")
		case user.TokenFile != "":
			return errors.New("tokenFile names a file")
		}
	}
	return nil
}

// newAccess returns the access that a kubeconfig gives, with the digest of its text, by which a
// change is noticed.
func newAccess(config *clientcmdapi.Config, origin string, data []byte) (*access, error) {
	rc, err := clientcmd.NewNonInteractiveClientConfig(*config, "", &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, invalid(origin, err)
	}
	configure(rc)
	return &access{config: rc, origin: origin, digest: sha256.Sum256(data)}, nil
}

// ownOrigin is the origin of OwnConfig, in messages.
const ownOrigin = "the configuration of Furrow itself"

// fromOwn uses what this process reaches its own cluster with. A token in a file is
// read again by the transport each minute, and by the next session at once.
func fromOwn(config *rest.Config) *access {
	rc := rest.CopyConfig(config)
	rc.RateLimiter = nil
	configure(rc)
	return &access{config: rc, origin: ownOrigin}
}

// configure sets what every connection of a channel needs.
func configure(rc *rest.Config) {
	rc.UserAgent = "furrow"
	rc.QPS = -1 // the server's own fairness is enough
	rc.WarningHandler, rc.WarningHandlerWithContext = rest.NoWarnings{}, nil
	if rc.ExecProvider != nil {
		rc.ExecProvider.StdinUnavailable = true
	}
}

// unusable is a kubeconfig that cannot be used.
func unusable(format string, args ...any) error {
	return manifest.Problem{Reason: v1alpha1.ReasonKubeConfigInvalid, Message: fmt.Sprintf(format, args...)}
}

// invalid returns the error for a kubeconfig that cannot be used. A decoder's message may quote its
// content, so only the kind of error is reported.
func invalid(origin string, err error) error {
	why := "it is not a kubeconfig"
	var file *fs.PathError
	if errors.As(err, &file) {
		why = "the file " + file.Path + " that it names cannot be read"
	} else if clientcmd.IsEmptyConfig(err) || clientcmd.IsConfigurationInvalid(err) || clientcmd.IsContextNotFound(err) {
		why = stable(err.Error())
	}
	return unusable("the kubeconfig in %s cannot be used: %s", origin, why)
}

// secretKeys are the keys under which a Secret may hold a kubeconfig.
var secretKeys = []string{"value", "value.yaml"}

// kubeConfigOf returns the kubeconfig in a Secret, under one of some keys or the usual ones. What is
// in it is found by name, decoded.
func kubeConfigOf(origin string, find func(name string) ([]byte, error), first ...string) ([]byte, error) {
	for _, name := range append(first, secretKeys...) {
		data, err := find(name)
		if err != nil {
			return nil, unusable("the %s holds no valid %q", origin, name)
		}
		if len(data) > maxKubeConfig {
			return nil, unusable("the kubeconfig in %s cannot be used: it is too large for one", origin)
		}
		if len(data) > 0 {
			return data, nil
		}
	}
	return nil, unusable("the %s has no key %q with a kubeconfig", origin, append(first, secretKeys...)[0])
}

// encoded finds what is in a Secret as an API server sends it.
func encoded(data map[string]any) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) { return base64.StdEncoding.DecodeString(text(data, name)) }
}

// decoded finds what is in a Secret as clients have it.
func decoded(data map[string][]byte) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) { return data[name], nil }
}
