package simulator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Source is a GitOps repository as its clusters read it.
type Source interface {
	// Head returns the newest revision, "main@sha1:<40 hex>", and its tree. Only
	// directories and files are read. Equal revisions have equal trees. If the
	// tree is an fs.StatFS whose directories have a Sys that is comparable and
	// not nil, equal ones mean equal contents.
	Head(ctx context.Context) (revision string, tree fs.FS, err error)
}

// repo is a Source with what was read of it. files and dirs are by path and hold for one content
// each, so a commit that changes one file costs one file.
type repo struct {
	source Source
	head   *snapshot
	files  map[string]readFile
	dirs   map[string]readDir
}

// readFile and readDir cache what was built from a path, with the version that
// it was built from.
type readFile struct {
	sum   [sha256.Size]byte
	items []*item
	fault string
}

// readDir is what a directory held when its stamp was this.
type readDir struct {
	stamp   any
	content *content
}

func newRepo(source Source) *repo {
	return &repo{source: source, files: map[string]readFile{}, dirs: map[string]readDir{}}
}

// snapshot is one revision of a repository.
type snapshot struct {
	repo     *repo
	revision string
	tree     fs.FS
	contents map[string]*content // by path
}

// content is what a reconciler builds of one path. It is never changed.
type content struct {
	items []*item // by id
	fault string  // why the build fails, empty when it does not
}

// item is one object in Git. Its pointer stays the same for as long as its
// file does.
type item struct {
	object  manifest.Object
	decoded *declared // of a Kustomization, once it was asked for
}

// load reads a path once for each of its contents: by the revision, by the stamp of the directory
// where the tree has one, and file by file. The error means that it is not there or unreadable. In
// a fleet of thousands of clusters most paths do not change with a commit, so almost nothing is
// read.
func (s *snapshot) load(name string) (*content, error) {
	if have := s.contents[name]; have != nil {
		return have, nil
	}
	stamp := s.stamp(name)
	if known := s.repo.dirs[name]; stamp != nil && known.stamp == stamp {
		s.contents[name] = known.content
		return known.content, nil
	}
	var b build
	if err := b.walk(s, name); err != nil {
		return nil, err
	}
	made := b.finish()
	s.contents[name] = made
	if stamp != nil {
		s.repo.dirs[name] = readDir{stamp, made}
	}
	return made, nil
}

// stamp identifies the contents of a directory without reading them, nil when
// the tree cannot.
func (s *snapshot) stamp(name string) any {
	tree, ok := s.tree.(fs.StatFS)
	if !ok {
		return nil
	}
	info, err := tree.Stat(name)
	if err != nil || !info.IsDir() {
		return nil
	}
	stamp := info.Sys()
	if stamp == nil || !reflect.ValueOf(stamp).Comparable() {
		return nil
	}
	return stamp
}

// build gathers the objects below one path.
type build struct {
	items []*item
	fault string // the first one
}

// walk reads the manifests of a directory, as Flux does where it has no kustomization file: all
// files that end in .yaml or .yml, in directories below too. A directory that has one cannot be
// simulated.
func (b *build) walk(s *snapshot, dir string) error {
	entries, err := fs.ReadDir(s.tree, dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		switch {
		case entry.Name() == ".git":
		case entry.IsDir():
			err = b.walk(s, name)
		case slices.Contains(konfig.RecognizedKustomizationFileNames(), entry.Name()):
			b.fail(fmt.Sprintf("kustomize build failed: %s: overlays are not simulated, and a Flux Kustomization must not have this file name", name))
		case isYAML(entry.Name()):
			err = b.read(s, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isYAML(name string) bool { return slices.Contains([]string{".yaml", ".yml"}, path.Ext(name)) }

func (b *build) read(s *snapshot, name string) error {
	data, err := fs.ReadFile(s.tree, name)
	if err != nil {
		return err
	}
	file := s.repo.parse(name, data)
	b.items = append(b.items, file.items...)
	b.fail(file.fault)
	return nil
}

func (b *build) fail(fault string) { b.fault = cmp.Or(b.fault, fault) }

// parse parses a file once for each content. The items are shared between snapshots.
func (r *repo) parse(name string, data []byte) readFile {
	sum := sha256.Sum256(data)
	if known, ok := r.files[name]; ok && known.sum == sum {
		return known
	}
	file := readFile{sum: sum}
	objects, err := manifest.Parse(name, data)
	if err != nil {
		file.fault = fmt.Sprintf("failed to decode Kubernetes YAML from %s: %v", name, err)
	}
	for _, o := range objects {
		file.items = append(file.items, &item{object: o})
	}
	r.files[name] = file
	return file
}

// finish returns the objects by id. An id that is there twice is a fault, as for kustomize.
func (b *build) finish() *content {
	slices.SortStableFunc(b.items, func(x, y *item) int { return x.object.ID.Compare(y.object.ID) })
	for i := 1; i < len(b.items); i++ {
		if a := b.items[i-1].object; a.ID == b.items[i].object.ID {
			b.fail(fmt.Sprintf("kustomize build failed: may not add resource with an already registered id: %s (%s and %s)",
				a.ID, a.Source, b.items[i].object.Source))
		}
	}
	return &content{items: b.items, fault: b.fault}
}

// cleanPath turns a spec.path into a path of the tree.
func cleanPath(p string) (string, error) {
	clean := path.Clean(strings.TrimPrefix(p, "/"))
	if !fs.ValidPath(clean) {
		return "", fmt.Errorf("kustomization path not found: %s is outside of the repository", p)
	}
	return clean, nil
}

// pathFailure says in Flux's words why a path cannot be read.
func pathFailure(p string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("kustomization path not found: stat %s: no such file or directory", p)
	}
	return fmt.Sprintf("kustomization path not found: %v", err)
}

// planFetch lets the cluster fetch the head, at once or some ticks later. What
// is the head by then is what it gets, so revisions are skipped.
func (s *Simulator) planFetch(c *cluster) {
	if c.fetching {
		return
	}
	c.fetching = true
	tick := s.schedule.now
	if lag := s.opts.Chaos.FetchLag; lag > 0 && s.chaotic() {
		tick += s.rng.IntN(lag + 1)
	}
	epoch := c.epoch
	s.schedule.at(tick, fetches, c.spec.Name, func() {
		if c.epoch == epoch {
			c.fetching = false
			s.fetch(c)
		}
	})
}

// fetch lets a cluster's source take up the repository's head, and wakes what depends on it.
func (s *Simulator) fetch(c *cluster) {
	r := s.repos[c.spec.Root.RepoID]
	if r == nil || r.head == nil || c.snapshot != nil && c.snapshot.revision == r.head.revision {
		return
	}
	c.snapshot = r.head
	for _, k := range c.sortedKustomizations() {
		s.sourceMoved(k)
	}
}

// sourceMoved schedules a reconcile of the revision that was just fetched. Flux's own default is to
// finish a running health check first.
func (s *Simulator) sourceMoved(k *kustomization) {
	if k.attempt != nil && !s.opts.CancelHealthChecks {
		return // a newer revision waits for a running health check
	}
	if k.attempt != nil {
		s.setReady(k, k.attempt.generation, unknown(reasonCanceled, "New reconciliation triggered by a new revision"))
		k.attempt = nil
	}
	tick := s.schedule.now
	if s.opts.Chaos.Reorder && s.chaotic() {
		tick += s.rng.IntN(2)
	}
	s.wake(k, tick)
}
