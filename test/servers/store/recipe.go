package store

import "path"

// Name is a server, or a set of files, that can be built and found.
type Name string

// All that can be built.
const (
	// ClusterAPI holds no program: only Cluster API's CRDs, in crds/.
	ClusterAPI Name = "cluster-api"
	// Etcd holds the program etcd.
	Etcd Name = "etcd"
	// Gitea holds the program gitea, and in static/ the files that it serves.
	Gitea Name = "gitea"
	// Helm holds the program helm.
	Helm Name = "helm"
	// Kubernetes holds the programs kube-apiserver, kube-controller-manager, kube-scheduler and kubectl.
	Kubernetes Name = "kubernetes"
	// KustomizeController holds the program kustomize-controller, and in crds/ its CRDs.
	KustomizeController Name = "kustomize-controller"
	// KWOK holds the program kwok, and in stages/ how its nodes and pods live.
	KWOK Name = "kwok"
	// SourceController holds the program source-controller, and in crds/ its CRDs.
	SourceController Name = "source-controller"
)

// recipe says how a server is made.
type recipe struct {
	name    Name
	version string
	// packages are the main packages to build in the server's module; programs are the names of what comes out.
	packages []string
	programs []string
	tags     string
	ldflags  string
	cgo      bool
	// data is what the server reads at run time.
	data []data
	// mergeOlder adds the versions that only the CRDs in older/ know to those in crds/.
	mergeOlder bool
	// seconds is how long a build takes on 2 cores when nothing is cached.
	seconds int
}

// data is a folder of a module that is copied next to the programs.
type data struct {
	module module
	from   string
	to     string
}

// module is a module at a version, with the go.sum line that proves it.
type module struct {
	path, version, sum string
}

const (
	stripped         = "-s -w"
	kubernetesLabels = " -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=36" +
		" -X k8s.io/component-base/version.gitVersion=v1.36.3" +
		" -X k8s.io/component-base/version.gitTreeState=archive" +
		" -X k8s.io/component-base/version.gitCommit=unknown" +
		" -X k8s.io/component-base/version.buildDate=1970-01-01T00:00:00Z"
	helmLabels = " -X helm.sh/helm/v4/internal/version.version=v4.3.1"
)

var (
	clusterAPIModule = module{"sigs.k8s.io/cluster-api", "v1.14.2", "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA="}
	giteaModule      = module{"code.gitea.io/gitea", "v1.26.0", "h1:fJP9dqLbzKrKWUVnCVTfVersZdVDuyJQLEDzCAOmKKA="}
	kustomizeModule  = module{"github.com/fluxcd/kustomize-controller", "v1.9.5", "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc="}
	kwokModule       = module{"sigs.k8s.io/kwok", "v0.8.0", "h1:OTIOTwgROqPMovcTwxICx2eYQ4AwLpSx5EpjbDKF4SQ="}
	sourceModule     = module{"github.com/fluxcd/source-controller", "v1.3.0", "h1:4rwvl3e2LJqeJIK7lrVl/DhGwaFtqDiS+EEJ9l2zxNw="}
	newSourceModule  = module{"github.com/fluxcd/source-controller", "v1.9.5", "h1:MFPyCodUi9hZIMaKDsC/rYbNoyzpvrAdrPVixj7W9F0="}
)

// recipes are in the order in which they are built: what is needed first and quickest comes first.
var recipes = []recipe{
	{
		name: ClusterAPI, version: clusterAPIModule.version, seconds: 5,
		data: []data{
			{clusterAPIModule, "core/config/crd/bases", "crds"},
			{clusterAPIModule, "bootstrap/kubeadm/config/crd/bases", "crds"},
			{clusterAPIModule, "controlplane/kubeadm/config/crd/bases", "crds"},
		},
	},
	{
		name: Etcd, version: "v3.6.16", seconds: 50,
		packages: []string{"go.etcd.io/etcd/server/v3"}, programs: []string{"etcd"}, ldflags: stripped,
	},
	{
		name: Kubernetes, version: "v1.36.3", seconds: 360,
		packages: []string{
			"k8s.io/kubernetes/cmd/kube-apiserver",
			"k8s.io/kubernetes/cmd/kube-controller-manager",
			"k8s.io/kubernetes/cmd/kube-scheduler",
			"k8s.io/kubernetes/cmd/kubectl",
		},
		programs: []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"},
		ldflags:  stripped + kubernetesLabels,
	},
	{
		name: Helm, version: "v4.3.1", seconds: 120,
		packages: []string{"helm.sh/helm/v4/cmd/helm"}, programs: []string{"helm"}, ldflags: stripped + helmLabels,
	},
	{
		name: Gitea, version: giteaModule.version, seconds: 245, cgo: true,
		packages: []string{giteaModule.path}, programs: []string{"gitea"},
		tags: "sqlite sqlite_unlock_notify", ldflags: stripped + " -X main.Version=1.26.0",
		data: []data{
			{giteaModule, "options", "static/options"},
			{giteaModule, "public", "static/public"},
			{giteaModule, "templates", "static/templates"},
		},
	},
	{
		name: SourceController, version: sourceModule.version, seconds: 160,
		packages: []string{sourceModule.path}, programs: []string{"source-controller"}, ldflags: stripped,
		// This version watches kinds that the CRDs of the other controller's release no longer serve.
		data: []data{
			{newSourceModule, "config/crd/bases", "crds"},
			{sourceModule, "config/crd/bases", "older"},
		},
		mergeOlder: true,
	},
	{
		name: KustomizeController, version: kustomizeModule.version, seconds: 180,
		packages: []string{kustomizeModule.path}, programs: []string{"kustomize-controller"}, ldflags: stripped,
		data: []data{{kustomizeModule, "config/crd/bases", "crds"}},
	},
	{
		name: KWOK, version: kwokModule.version, seconds: 52,
		packages: []string{kwokModule.path + "/cmd/kwok"}, programs: []string{"kwok"}, ldflags: stripped,
		data: []data{
			{kwokModule, "kustomize/stage/pod/fast", "stages/pod-fast"},
			{kwokModule, "kustomize/stage/node/fast", "stages/node-fast"},
			{kwokModule, "kustomize/stage/node/heartbeat", "stages/node-heartbeat"},
		},
	},
}

// buildArgs are the go command's arguments that build the programs of r into the folder bin.
func (r recipe) buildArgs(bin string) []string {
	out := bin + "/"
	if len(r.programs) == 1 {
		out = path.Join(bin, r.programs[0])
	}
	args := []string{"build", "-trimpath", "-ldflags=" + r.ldflags}
	if r.tags != "" {
		args = append(args, "-tags="+r.tags)
	}
	return append(append(args, "-o", out), r.packages...)
}
