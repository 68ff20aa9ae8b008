package kustomize

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// request is what is built: overlays of a package, by paths relative to its root.
type request struct {
	// Root is the package's directory as people know it; Kustomize gets it under that path.
	Root     string
	Files    map[string][]byte
	Overlays []string
	Budget   budget
}

// build is what became of one overlay: Objects, with Warnings, or a Fault.
type build struct {
	Objects  []object
	Warnings []fault
	Fault    *fault
}

// object is one object of a build, and the file that it comes from.
type object struct {
	JSON       []byte
	Kind, Name string
	Origin     string
}

// fault says why an overlay cannot be built: what people have to correct, and where.
type fault struct {
	Reason        v1alpha1.Reason
	File          string
	Line          int
	Message, Next string
}

func (f *fault) Error() string { return f.Message }

// budget is what the build of one overlay may take.
type budget struct {
	// Reads and Read are the files that are read, and their bytes. Kustomize reads a file each
	// time that it is named, so what multiplies by naming bases twice ends here.
	Reads, Read int
	// Objects and Output are the objects that come out, and their bytes.
	Objects, Output int
}

// defaultBudget is what Kustomize builds in seconds: its time grows with the square of the objects.
var defaultBudget = budget{Reads: 5_000, Read: 256 << 20, Objects: 5_000, Output: 128 << 20}

// mount returns where the package is in the file system that Kustomize has: a directory of the same
// path, for kustomizations that name one another by it.
func (r request) mount() string {
	if at := path.Join("/", r.Root); at != "/" {
		return at
	}
	return "/package"
}

// krustyMutex guards the OpenAPI schema, which Kustomize has once for the whole process.
var krustyMutex sync.Mutex

// buildAll builds the overlays of a request, one after the other, in one file system in memory. The
// error is that of the machine; what is wrong with an overlay is in its build, and does not keep
// the others from being built.
func buildAll(ctx context.Context, r request) ([]build, error) {
	krustyMutex.Lock()
	defer krustyMutex.Unlock()
	files := filesys.MakeFsInMemory()
	for name, data := range r.Files {
		if err := files.WriteFile(path.Join(r.mount(), name), data); err != nil {
			return nil, err
		}
	}
	builds := make([]build, len(r.Overlays))
	for i, overlay := range r.Overlays {
		if builds[i] = r.build(ctx, files, overlay); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return builds, nil
}

// build builds one overlay. Kustomize annotates each object with the file that it comes from,
// because the guard switches that on; the annotation is taken out again unless the overlay asked
// for it.
//
// It recovers from panics of Kustomize: they are faults of the overlay, and the others are still
// built.
func (r request) build(ctx context.Context, files filesys.FileSystem, overlay string) (b build) {
	g := &guard{FileSystem: files, ctx: ctx, request: r, overlay: path.Join(r.mount(), overlay), seen: map[string][]byte{}, kustomizations: map[string]*types.Kustomization{}}
	defer func() {
		if r := recover(); r != nil {
			b = build{Fault: g.failed(fmt.Errorf("it fails on this: %v", r))}
		}
	}()
	objects, selectable, failed := g.run()
	if failed != nil {
		return build{Fault: failed}
	}
	return build{Objects: objects, Warnings: g.silent(selectable)}
}

// run builds the overlay of the guard. It returns the objects, and what selectors see of them.
func (g *guard) run() (objects []object, selectable []named, failed *fault) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(g, g.overlay)
	switch {
	case g.fault != nil:
		return nil, nil, g.fault
	case err != nil:
		return nil, nil, g.failed(err)
	case built.Size() > g.Budget.Objects:
		return nil, nil, g.over(fmt.Sprintf("it renders %d objects, and at most %d are read", built.Size(), g.Budget.Objects))
	}
	size := 0
	for _, res := range built.Resources() {
		o := object{Kind: res.GetKind(), Name: res.GetName(), Origin: g.within(g.root)}
		if origin, err := res.GetOrigin(); err == nil && origin != nil {
			o.Origin = g.within(path.Join(g.overlay, cmp.Or(origin.Path, origin.ConfiguredIn)))
		}
		if !g.keepOrigins {
			if err := res.SetOrigin(nil); err != nil {
				return nil, nil, g.failed(err)
			}
		}
		if err := correctManager(res); err != nil {
			return nil, nil, g.failed(err)
		}
		data, err := res.MarshalJSON()
		if err != nil {
			return nil, nil, g.failed(err)
		}
		if size += len(data); size > g.Budget.Output {
			return nil, nil, g.over(fmt.Sprintf("it renders more than %d MiB", g.Budget.Output>>20))
		}
		o.JSON = data
		objects = append(objects, o)
		gvk := res.GetGvk()
		selectable = append(selectable, named{group: gvk.Group, version: gvk.Version, kind: gvk.Kind, namespace: res.GetNamespace(), name: res.GetName(), labels: res.GetLabels(), annotations: res.GetAnnotations()})
	}
	return objects, selectable, nil
}

// correctManager makes a valid label of the one that buildMetadata: [managedByLabel] adds: Kustomize
// writes its version there, which has parentheses where it is a library.
func correctManager(res *resource.Resource) error {
	labels := res.GetLabels()
	if !strings.HasPrefix(labels[managedBy], "kustomize-(") {
		return nil
	}
	labels[managedBy] = "kustomize"
	return res.SetLabels(labels)
}

// managedBy is the label of that name.
const managedBy = "app.kubernetes.io/managed-by"

var (
	// inDirectory is where Kustomize says which kustomization it was at, and triedAsFile what it
	// says of a directory before it knows that it is one.
	inDirectory = regexp.MustCompile(`(?:recursed accumulation of|couldn't make target for) path '([^']*)': `)
	triedAsFile = regexp.MustCompile(`(?:accumulating (?:resources|components): )?accumulation err='.*?must (?:resolve to a file|build at directory: '[^']*': file is not directory)': `)
	notResource = regexp.MustCompile(`^accumulating resources: accumulation err='accumulating resources from '([^']*)': (.*)': must build at directory: '[^']*': file is not directory$`)
	spaces      = regexp.MustCompile(`\s+`)
)

// maxMessage bounds what a message repeats of a build's error.
const maxMessage = 1000

// failed explains an error of Kustomize. Its messages wrap each other for each directory on the
// way, and repeat each attempt to read a resource as a file before it is read as a directory. What
// helps is the innermost kustomization and what is wrong there.
func (g *guard) failed(err error) *fault {
	at, message := g.root, spaces.ReplaceAllString(strings.TrimSpace(err.Error()), " ")
	if found := inDirectory.FindAllStringSubmatchIndex(message, -1); len(found) > 0 {
		last := found[len(found)-1]
		at, message = g.kustomizationOf(message[last[2]:last[3]]), message[last[1]:]
	}
	message = g.readable(triedAsFile.ReplaceAllString(notResource.ReplaceAllString(message, "$1: $2"), ""))
	return &fault{Reason: v1alpha1.ReasonRenderFailed, File: g.within(at), Message: "Kustomize: " + message, Next: "Correct the kustomization; 'kustomize build' says the same."}
}

// readable returns a message of Kustomize by paths as people know them.
func (g *guard) readable(message string) string {
	return truncate.Text(strings.TrimSuffix(strings.ReplaceAll(message, g.mount(), g.Root), "."), maxMessage)
}
