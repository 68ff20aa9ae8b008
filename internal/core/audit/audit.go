// Package audit finds what lies at Furrow's paths on a base branch and came from no plan.
//
// It compares files by path and content with what plans have there. It does not know which plans may
// be believed: that is the caller's concern.
package audit

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
)

// Unplanned returns the files, by path, that none of some plans has with this content.
func Unplanned(files map[string]layout.Hash, plans ...map[string]layout.Hash) []string {
	var out []string
	for at, hash := range files {
		if !slices.ContainsFunc(plans, func(planned map[string]layout.Hash) bool { return planned[at] == hash }) {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return out
}

// Finding is a file that came from no plan, with the commit of base that brought it.
type Finding struct {
	Repo, Path string
	// Commit is empty where it is older than what was searched.
	Commit, Author, Subject string
}

// Group is what one commit brought to one repository.
type Group struct {
	Finding
	Paths []string
}

// Fold puts together what one commit brought.
func Fold(findings []Finding) []Group {
	findings = slices.Clone(findings)
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Path, b.Path))
	})
	var out []Group
	for _, f := range findings {
		if n := len(out) - 1; n >= 0 && out[n].Repo == f.Repo && out[n].Commit == f.Commit {
			out[n].Paths = append(out[n].Paths, f.Path)
			continue
		}
		out = append(out, Group{f, []string{f.Path}})
	}
	return out
}

// Where names the files of a group: the file, or the directory that holds all of them.
func (g Group) Where() string {
	if len(g.Paths) == 1 {
		return g.Paths[0]
	}
	dir := path.Dir(g.Paths[0])
	for !slices.Equal(g.Paths, below(g.Paths, dir)) {
		dir = path.Dir(dir)
	}
	return fmt.Sprintf("%d files in %s/", len(g.Paths), dir)
}

// below returns the paths that lie in a directory.
func below(paths []string, dir string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(at string) bool {
		return dir != "." && (len(at) <= len(dir) || at[:len(dir)+1] != dir+"/")
	})
}
