package flux

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/delivery"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// What comes of a problem.
const (
	stopsRoot  = "Until it is corrected, the root applies no change"
	hidesFiles = "Until it is removed, the root takes up only what it lists"
	holdsTier  = "Until it is removed, Furrow's own file would keep the root from taking up any change"
)

// kustomizationFiles are the names under which kustomize finds its file in a directory.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// neverFetched are the files and directories, at any depth, that source-controller
// ignores by default.
var neverFetched = []string{
	".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml",
	".goreleaser.yml", ".sops.yaml", ".flux.yaml",
}

// neverFetchedDirs are the directories that source-controller never has in an artifact.
var neverFetchedDirs = []string{".git", ".github", ".circleci"}

// UnreadFolder implements delivery.Kind: whether Flux can build the directory is not known.
func (Kind) UnreadFolder(root string, why error) delivery.Folder {
	return delivery.Folder{Problems: manifest.Problems{{Reason: v1alpha1.ReasonTooLargeToRead, Source: manifest.Source{File: cmp.Or(root, ".")},
		Message: fmt.Sprintf("the directory of the root cannot be checked: %v", why), Next: "Move manifests that are not Furrow's out of it, to a path with a Kustomization of its own"}}}
}

// ReadsFile implements delivery.Kind.
func (Kind) ReadsFile(root, file string) bool {
	if _, below := belowRoot(root, file); !below {
		return false
	}
	dir, name := path.Split(path.Clean(file))
	for element := range strings.SplitSeq(dir, "/") {
		if slices.Contains(neverFetched, element) || slices.Contains(neverFetchedDirs, element) {
			return false
		}
	}
	return !slices.Contains(neverFetched, name) && (isManifest(name) || slices.Contains(kustomizationFiles, name))
}

func isManifest(name string) bool {
	return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"
}

// belowRoot returns a file's path relative to the root, false when it lies elsewhere.
func belowRoot(root, file string) (string, bool) {
	root = strings.TrimPrefix(path.Clean("/"+root), "/")
	if root == "" {
		return path.Clean(file), true
	}
	return strings.CutPrefix(path.Clean(file), root+"/")
}

// ReadFolder implements delivery.Kind. It follows kustomize-controller (the generator of fluxcd/pkg/kustomize and
// kustomize's reader) and is not stricter: what Flux builds has no problem here. What only the cluster knows, such as
// its kinds, is left to the cluster. It goes through each file once, in order of names, and finds duplicates by an
// index.
func (k Kind) ReadFolder(root string, files map[string][]byte) delivery.Folder {
	r := folderReader{root: root, files: files, objects: map[objectID]manifest.Source{}}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(file string) bool { return !k.ReadsFile(root, file) })
	if own := r.kustomizationOf(r.join("")); own != "" {
		r.problem(manifest.Source{File: own}, hidesFiles, "a kustomization file in the directory of a root keeps the root from files that it does not list. "+
			"Remove it: Flux then takes all files of the directory")
		return r.folder()
	}
	for _, file := range names {
		if dir := r.kustomizedDir(file); dir != "" {
			r.kustomization(dir, file)
		} else if isManifest(file) {
			r.manifests(file, files[file])
		}
	}
	return r.folder()
}

// folder returns what was gathered, in order.
func (r *folderReader) folder() delivery.Folder {
	out := delivery.Folder{Problems: r.problems}
	slices.SortStableFunc(out.Problems, func(a, b manifest.Problem) int {
		return cmp.Or(a.Source.Compare(b.Source), strings.Compare(a.Message, b.Message))
	})
	for id, source := range r.objects {
		out.Objects = append(out.Objects, delivery.FolderObject{ID: id.ID, Version: id.version, Source: source})
	}
	slices.SortFunc(out.Objects, func(a, b delivery.FolderObject) int {
		return cmp.Or(a.ID.Compare(b.ID), strings.Compare(a.Version, b.Version))
	})
	return out
}

// Claims implements delivery.Kind.
func (Kind) Claims(f delivery.Folder, id manifest.ID, own string) (manifest.Problem, bool) {
	want := objectID{ID: id}.effective()
	var found []manifest.Source
	for _, o := range f.Objects {
		if o.ID == want.ID && o.Source.File != own {
			found = append(found, o.Source)
		}
	}
	if len(found) == 0 {
		return manifest.Problem{}, false
	}
	return manifest.Problem{
		Reason:  v1alpha1.ReasonRootUnbuildable,
		Source:  slices.MinFunc(found, manifest.Source.Compare),
		Message: fmt.Sprintf("%s is also what Furrow puts into %s. Remove or rename it here", objectID{ID: id}, own),
		Next:    holdsTier,
	}, true
}

// objectID is what kustomize compares objects by: two with one objectID in a directory are an
// error. Its namespace is the effective one.
type objectID struct {
	manifest.ID
	version string
}

// effective makes one of the namespaces that kustomize takes to be the same.
func (id objectID) effective() objectID {
	scope, _ := manifest.BuiltinScope(id.GroupKind())
	kubernetes := !strings.Contains(id.Group, ".") || strings.HasSuffix(id.Group, ".k8s.io")
	switch {
	case kubernetes && scope == manifest.ClusterScoped:
		id.Namespace = ""
	case id.Namespace == "":
		id.Namespace = "default"
	}
	return id
}

// String names the object for people.
func (id objectID) String() string {
	switch {
	case id.Name == "":
		return "a " + id.Kind + " without a name"
	case id.Namespace == "":
		return fmt.Sprintf("the %s %s", id.Kind, id.Name)
	}
	return fmt.Sprintf("the %s %s/%s", id.Kind, id.Namespace, id.Name)
}

// folderReader gathers what a directory has.
type folderReader struct {
	root     string
	files    map[string][]byte
	objects  map[objectID]manifest.Source
	problems manifest.Problems
}

func (r *folderReader) problem(at manifest.Source, effect, format string, args ...any) {
	r.problems = append(r.problems, manifest.Problem{Reason: v1alpha1.ReasonRootUnbuildable, Source: at, Message: fmt.Sprintf(format, args...), Next: effect})
}

func (r *folderReader) stops(at manifest.Source, format string, args ...any) {
	r.problem(at, stopsRoot, format, args...)
}

func (r *folderReader) join(dir string) string {
	return strings.TrimPrefix(path.Join("/", r.root, dir), "/")
}

// kustomizationOf returns the kustomization file of a directory, or empty.
func (r *folderReader) kustomizationOf(dir string) string {
	for _, name := range kustomizationFiles {
		if _, ok := r.files[path.Join(dir, name)]; ok {
			return path.Join(dir, name)
		}
	}
	return ""
}

// kustomizedDir returns the topmost directory around a file, below the root, that has a
// kustomization file of its own: kustomize builds it from that file, and Flux does not read the
// other files.
func (r *folderReader) kustomizedDir(file string) string {
	relative, _ := belowRoot(r.root, file)
	for i, c := range relative {
		if c != '/' {
			continue
		}
		if dir := r.join(relative[:i]); r.kustomizationOf(dir) != "" {
			return dir
		}
	}
	return ""
}

// add records an object and reports a duplicate. Of two, the one that is not Furrow's
// must be corrected.
func (r *folderReader) add(id objectID, at manifest.Source) {
	effective := id.effective()
	first, twice := r.objects[effective]
	if !twice {
		r.objects[effective] = at
		return
	}
	if r.isOwn(at.File) && !r.isOwn(first.File) {
		r.objects[effective] = at
		first, at = at, first
	}
	r.stops(at, "%s is defined at %s already. Define it once", id, first)
}

func (r *folderReader) isOwn(file string) bool {
	return strings.HasPrefix(file, layout.OwnDir("", r.join(""))+"/")
}
