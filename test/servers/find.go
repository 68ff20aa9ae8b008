package servers

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/test/servers/store"
)

type (
	// Name is a server that can be built.
	Name = store.Name
	// Bin says where built servers are.
	Bin = store.Bin
)

// All that can be built.
const (
	ClusterAPI          = store.ClusterAPI
	Etcd                = store.Etcd
	GiteaServer         = store.Gitea
	Helm                = store.Helm
	Kubernetes          = store.Kubernetes
	KustomizeController = store.KustomizeController
	KWOK                = store.KWOK
	Packages            = store.Packages
	SourceController    = store.SourceController
)

// What StartCluster, with Nodes too, and StartFlux need.
var (
	ForCluster = []Name{Etcd, Kubernetes}
	ForNodes   = []Name{Etcd, Kubernetes, KWOK}
	ForFlux    = []Name{Etcd, Kubernetes, SourceController, KustomizeController}
)

// requireVariable is set where no test may be skipped.
const requireVariable = "FURROW_REQUIRE_SERVERS"

// Find finds built servers. The error is a *store.NotBuiltError when one is missing.
func Find(names ...Name) (Bin, error) {
	all, err := store.Open()
	if err != nil {
		return Bin{}, err
	}
	return all.Find(names...)
}

// Need finds the servers that a test needs. When one is not built the test is skipped, or fails
// when the variable FURROW_REQUIRE_SERVERS is set. Short runs do without servers.
func Need(t testing.TB, names ...Name) Bin {
	t.Helper()
	if testing.Short() {
		t.Skip("runs on real servers: not in a short run")
	}
	bin, err := Find(names...)
	var missing *store.NotBuiltError
	switch {
	case err == nil:
	case errors.As(err, &missing):
		Lacks(t, err)
	default:
		t.Fatalf("%s: %v", t.Name(), err)
	}
	return bin
}

// Lacks skips a test that lacks something, or fails it when the variable FURROW_REQUIRE_SERVERS is
// set.
func Lacks(t testing.TB, why error) {
	t.Helper()
	if os.Getenv(requireVariable) != "" {
		t.Fatalf("%s: %v", t.Name(), why)
	}
	t.Skipf("SKIPPED: %v", why)
}

// CRDs returns the CRDs that come with a server, as YAML documents: SourceController,
// KustomizeController or ClusterAPI.
func CRDs(name Name) ([]byte, error) {
	bin, err := Find(name)
	if err != nil {
		return nil, err
	}
	files, err := yamlFiles(bin.Dir(name) + "/crds")
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a CRD of %s: %w", name, err)
		}
		all = append(append(all, "\n---\n"...), content...)
	}
	return all, nil
}

// yamlFiles returns the YAML files in folders, in order; none is an error.
func yamlFiles(folders ...string) ([]string, error) {
	var files []string
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("list what a server comes with: %w", err)
		}
		for _, entry := range entries {
			files = append(files, folder+"/"+entry.Name())
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no files in %v", folders)
	}
	slices.Sort(files)
	return files, nil
}
