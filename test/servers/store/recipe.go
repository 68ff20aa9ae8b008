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
	// Gitea holds the program gitea, which does not migrate from other forges, and in static/ the
	// files that it serves.
	Gitea Name = "gitea"
	// Helm holds the program helm.
	Helm Name = "helm"
	// Kubernetes holds the programs kube-apiserver, kube-controller-manager, kube-scheduler and
	// kubectl. The first three are one file.
	Kubernetes Name = "kubernetes"
	// KustomizeController holds the program kustomize-controller, which does not decrypt and knows
	// no cloud, and in crds/ its CRDs.
	KustomizeController Name = "kustomize-controller"
	// Packages holds no program: only manifests of other projects, a folder for each in packages/.
	Packages Name = "packages"
	// KWOK holds the program kwok, and in stages/ how its nodes and pods live.
	KWOK Name = "kwok"
	// SourceController holds the program source-controller, which handles Git repositories only,
	// and in crds/ its CRDs.
	SourceController Name = "source-controller"
)

// recipe says how a server is made.
type recipe struct {
	name    Name
	version string
	// source pins the packages to build, which are main packages; programs are the names of what
	// comes out, and aliases further names of these.
	source   source
	packages []string
	programs []string
	aliases  map[string]string
	tags     string
	ldflags  string
	cgo      bool
	// data is what the server reads at run time.
	data []data
	// kustomizations reports whether the data is copied with what only kustomize reads.
	kustomizations bool
	// seconds is how long a build takes on 2 cores when nothing is cached but what the ones before
	// it left.
	seconds int
}

// data is a folder or a file of a module that is copied.
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
	artifactModule   = module{"github.com/fluxcd/source-controller", "v1.3.0", "h1:4rwvl3e2LJqeJIK7lrVl/DhGwaFtqDiS+EEJ9l2zxNw="}
	authModule       = module{"github.com/fluxcd/pkg/auth", "v0.54.3", "h1:p0KyQHk9kdBwOnkChkuK8gGaaze0KHO0xFGk/iKd4Ek="}
	clusterAPIModule = module{"sigs.k8s.io/cluster-api", "v1.14.2", "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA="}
	giteaModule      = module{"code.gitea.io/gitea", "v1.26.0", "h1:fJP9dqLbzKrKWUVnCVTfVersZdVDuyJQLEDzCAOmKKA="}
	kustomizeModule  = module{"github.com/fluxcd/kustomize-controller", "v1.9.5", "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc="}
	kwokModule       = module{"sigs.k8s.io/kwok", "v0.8.0", "h1:OTIOTwgROqPMovcTwxICx2eYQ4AwLpSx5EpjbDKF4SQ="}
	sourceModule     = module{"github.com/fluxcd/source-controller", "v1.9.5", "h1:MFPyCodUi9hZIMaKDsC/rYbNoyzpvrAdrPVixj7W9F0="}
)

var (
	// clusterSource pins all that has to do with clusters, so the libraries of Kubernetes are
	// compiled once. In its folder go get changes a version; go mod tidy fails, as it wants what is
	// left out.
	clusterSource = source{dir: "cluster", copies: []copied{
		{
			path:  kustomizeModule.path,
			parts: []data{{kustomizeModule, ".", "."}},
			drop:  []string{"internal/decryptor/options.go"},
			own:   "_flux/kustomize-controller",
		},
		{
			path:  sourceModule.path,
			parts: []data{{sourceModule, ".", "."}},
			drop: []string{
				"internal/controller/bucket_controller.go",
				"internal/controller/helmchart_controller.go",
				"internal/controller/helmrepository_controller.go",
				"internal/controller/ocirepository_controller.go",
			},
			own: "_flux/source-controller",
		},
		{
			path:  authModule.path,
			parts: []data{{authModule, ".", "."}},
			own:   "_flux/auth",
		},
		// This module cannot be had. What it holds was part of source-controller before.
		{
			path: "github.com/fluxcd/pkg/artifact",
			parts: []data{
				{artifactModule, "internal/controller/storage.go", "storage/storage.go"},
				{artifactModule, "internal/digest", "digest"},
				{artifactModule, "internal/fs", "fs"},
			},
			edits: []edit{
				{"storage/storage.go", "package controller", "package storage"},
				{"storage/storage.go", "github.com/fluxcd/source-controller/internal/", "github.com/fluxcd/pkg/artifact/"},
				{"storage/storage.go", "github.com/fluxcd/source-controller/api/v1", "github.com/fluxcd/pkg/apis/meta"},
				{"storage/storage.go", "github.com/go-git/go-git/v5/plumbing/format/", "github.com/fluxcd/pkg/sourceignore/"},
				{"storage/storage.go", "v1.ArtifactPath(", "artifactPath("},
			},
			own: "_flux/artifact",
		},
	}}
	// giteaSource pins Gitea.
	giteaSource = source{dir: "gitea", copies: []copied{{
		path:  giteaModule.path,
		parts: []data{{giteaModule, ".", "."}},
		drop: []string{
			"services/migrations/codebase.go",
			"services/migrations/codecommit.go",
			"services/migrations/gitbucket.go",
			"services/migrations/gitea_downloader.go",
			"services/migrations/github.go",
			"services/migrations/gitlab.go",
			"services/migrations/gogs.go",
			"services/migrations/onedev.go",
		},
		edits: []edit{{"models/db/engine.go", `_ "github.com/microsoft/go-mssqldb"`, ""}},
		own:   "_gitea",
	}}}
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
		name: Packages, version: "v1", seconds: 60, data: packageData, kustomizations: true,
	},
	{
		name: Etcd, version: "v3.6.16", seconds: 40, source: clusterSource,
		packages: []string{"go.etcd.io/etcd/server/v3"}, programs: []string{"etcd"}, ldflags: stripped,
	},
	{
		name: Kubernetes, version: "v1.36.3", seconds: 210, source: clusterSource,
		packages: []string{"k8s.io/kubernetes/cmd/kubectl", "./kubernetes"}, programs: []string{"kubectl", "kubernetes"},
		aliases: map[string]string{
			"kube-apiserver": "kubernetes", "kube-controller-manager": "kubernetes", "kube-scheduler": "kubernetes",
		},
		ldflags: stripped + kubernetesLabels,
	},
	{
		name: KWOK, version: kwokModule.version, seconds: 15, source: clusterSource,
		packages: []string{kwokModule.path + "/cmd/kwok"}, programs: []string{"kwok"}, ldflags: stripped,
		data: []data{
			{kwokModule, "kustomize/stage/pod/fast", "stages/pod-fast"},
			{kwokModule, "kustomize/stage/node/fast", "stages/node-fast"},
			{kwokModule, "kustomize/stage/node/heartbeat", "stages/node-heartbeat"},
		},
	},
	{
		name: SourceController, version: sourceModule.version, seconds: 15, source: clusterSource,
		packages: []string{sourceModule.path}, programs: []string{"source-controller"}, ldflags: stripped,
		data: []data{{sourceModule, "config/crd/bases", "crds"}},
	},
	{
		name: KustomizeController, version: kustomizeModule.version, seconds: 15, source: clusterSource,
		packages: []string{kustomizeModule.path}, programs: []string{"kustomize-controller"}, ldflags: stripped,
		data: []data{{kustomizeModule, "config/crd/bases", "crds"}},
	},
	{
		name: Helm, version: "v4.3.1", seconds: 20, source: clusterSource,
		packages: []string{"helm.sh/helm/v4/cmd/helm"}, programs: []string{"helm"}, ldflags: stripped + helmLabels,
	},
	{
		name: Gitea, version: giteaModule.version, seconds: 150, source: giteaSource, cgo: true,
		packages: []string{giteaModule.path}, programs: []string{"gitea"},
		tags: "sqlite sqlite_unlock_notify", ldflags: stripped + " -X main.Version=1.26.0",
		data: []data{
			{giteaModule, "options", "static/options"},
			{giteaModule, "public", "static/public"},
			{giteaModule, "templates", "static/templates"},
		},
	},
}

// env returns the environment of the go command that builds r. SQLite is compiled quickly rather
// than well.
func (r recipe) env() []string {
	if r.cgo {
		return []string{"CGO_ENABLED=1", "CGO_CFLAGS=-O1"}
	}
	return []string{"CGO_ENABLED=0"}
}

// buildArgs returns the go command's arguments that build the programs of r by goMod into the
// folder bin. Programs without symbols need nothing for debuggers to be compiled either.
func (r recipe) buildArgs(goMod, bin string) []string {
	out := bin + "/"
	if len(r.programs) == 1 {
		out = path.Join(bin, r.programs[0])
	}
	args := []string{"build", "-modfile=" + goMod, "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=" + r.ldflags}
	if r.tags != "" {
		args = append(args, "-tags="+r.tags)
	}
	return append(append(args, "-o", out), r.packages...)
}
