package fleet

import (
	"maps"
	"slices"
	"sync"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/engine"
)

// Board holds what the last pass of each control plane has seen, for the statuses
// of the other resources. It may be used by several goroutines.
type Board struct {
	mu    sync.Mutex
	posts map[ControlPlane]Post
	told  []func(namespace string)
}

// Post is what a pass has seen of the resources beside Seeds.
type Post struct {
	// Catalog is what the control plane declares.
	Catalog *catalog.Catalog
	// Repos are the GitOps repositories, by name.
	Repos map[string]engine.RepoReport
	// Plantings counts the seeds on each cluster.
	Plantings map[string]int
	// Read are the versions of the resources that the catalog was made of, by place.
	Read map[string]string
}

// Post takes in what a pass has seen. docs are those that its catalog was made of; nil
// where it is an earlier one, as what is declared now cannot be read.
func (b *Board) Post(cp ControlPlane, docs []Document, report *engine.Report) {
	post := Post{Catalog: report.Catalog, Repos: report.Repos, Plantings: map[string]int{}, Read: map[string]string{}}
	for _, d := range docs {
		post.Read[PlaceOf(d.Kind, cp.Namespace, d.Name)] = d.Version
	}
	for i := range report.Seeds {
		clusters := map[string]bool{}
		for _, t := range report.Seeds[i].Tiers {
			clusters[t.Cluster] = true
		}
		for cluster := range clusters {
			post.Plantings[cluster]++
		}
	}
	b.mu.Lock()
	if b.posts == nil {
		b.posts = map[ControlPlane]Post{}
	}
	had, known := b.posts[cp]
	if docs == nil && known {
		post.Read = had.Read
	}
	b.posts[cp] = post
	told := slices.Clone(b.told)
	b.mu.Unlock()
	if known && had.same(post) {
		return
	}
	for _, tell := range told {
		tell(cp.Namespace)
	}
}

// same says that nothing is to be shown otherwise.
func (p Post) same(o Post) bool {
	same := func(a, b engine.RepoReport) bool {
		return a.Head == b.Head && a.Proposals == b.Proposals && (a.Err == nil) == (b.Err == nil) && (a.Err == nil || a.Err.Error() == b.Err.Error())
	}
	return p.Catalog == o.Catalog && maps.Equal(p.Plantings, o.Plantings) && maps.Equal(p.Read, o.Read) && maps.EqualFunc(p.Repos, o.Repos, same)
}

// Take forgets a control plane that no Seed names any more, or that cannot be looked at.
func (b *Board) Take(cp ControlPlane) {
	b.mu.Lock()
	_, known := b.posts[cp]
	delete(b.posts, cp)
	told := slices.Clone(b.told)
	b.mu.Unlock()
	if known {
		for _, tell := range told {
			tell(cp.Namespace)
		}
	}
}

// Tell has a function called with the namespace in which something has changed. It
// is to return at once.
func (b *Board) Tell(tell func(namespace string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, tell)
}

// In are the posts of a namespace, always in the same order.
func (b *Board) In(namespace string) []Post {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Post
	for _, cp := range slices.SortedFunc(maps.Keys(b.posts), ControlPlane.compare) {
		if cp.Namespace == namespace {
			out = append(out, b.posts[cp])
		}
	}
	return out
}
