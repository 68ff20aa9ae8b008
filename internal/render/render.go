// Package render makes objects of the packages of seeds, and reads control planes: Load is
// the one way from a control-plane tree to its catalog.
//
// A renderer is a package below this one and a line in All. What it makes of a package is
// kept by the digest of all that it was made of.
package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	core "github.com/furrow-dev/furrow/internal/core/plugin"
	"github.com/furrow-dev/furrow/internal/core/recent"
	"github.com/furrow-dev/furrow/internal/plugin"
	"github.com/furrow-dev/furrow/internal/render/kustomize"
)

// Renderer makes objects of packages of one kind.
type Renderer interface {
	// Name is that of the renderer, for people and digests.
	Name() string
	// Markers are names of files that only packages for this renderer have. Of those all
	// files are read, and not only manifests.
	Markers() []string
	// Takes reports whether a package is for this renderer: by its Seed document, or by what it
	// holds.
	Takes(*catalog.Package) bool
	// Render makes the variants of a package. What people have to correct is in its problems;
	// the error means that the renderer could not run, or that ctx ended. It has a budget of
	// time, memory and output, and no network.
	Render(context.Context, *catalog.Package) (catalog.Rendered, error)
}

// All are the renderers, in the order in which they are asked.
var All = []Renderer{
	kustomize.Renderer{},
	plain{},
}

// plain renders plain manifests; it gets every package that no other renderer accepts.
type plain struct{}

func (plain) Name() string                { return "manifests" }
func (plain) Markers() []string           { return nil }
func (plain) Takes(*catalog.Package) bool { return true }

func (plain) Render(_ context.Context, p *catalog.Package) (catalog.Rendered, error) {
	return catalog.Manifests(p), nil
}

// Options say what is read besides a tree, and how.
type Options struct {
	Limits catalog.Limits
	// Resources are what custom resources say; nil where there are none, so all seeds
	// of the tree are wanted.
	Resources *catalog.Resources
	// Candidate is one more seed; nil where there is none.
	Candidate *catalog.Candidate
	// Plugins is the directory of the executables that may run as plugins; empty for none.
	Plugins string
	// Cache keeps what was rendered; nil to render all.
	Cache *Cache
}

// Reading returns how packages are read for the renderers.
func Reading(limits catalog.Limits) catalog.Reading {
	reading := catalog.Reading{Limits: limits}
	for _, r := range All {
		reading.Markers = append(reading.Markers, r.Markers()...)
	}
	return reading
}

// Load reads a control-plane tree, renders its seeds and makes the catalog of it. Without a tree
// there are only the options' resources and candidate, that one on two imagined clusters. The error
// means that the tree itself could not be read, or that ctx ended: what is wrong with a seed, or
// keeps it from being rendered, is in its Err.
func Load(ctx context.Context, tree fs.FS, o Options) (*catalog.Catalog, error) {
	packages, err := Reading(o.Limits).Packages(tree)
	if err != nil {
		return nil, err
	}
	if o.Resources != nil {
		packages.Apply(*o.Resources)
	}
	if o.Candidate != nil {
		if tree == nil {
			packages.Imagine()
		}
		packages.Add(*o.Candidate)
	}
	o.Cache.Turn()
	host := &plugin.Host{Dir: o.Plugins}
	defer host.Close()
	rendered := map[string]catalog.Rendered{}
	for _, p := range packages.Seeds() {
		plugins, problems := packages.Plugins(p)
		if rendered[p.Name], err = render(ctx, o.Cache, p, host, plugins); err != nil {
			return nil, err
		}
		if len(problems) > 0 {
			r := rendered[p.Name]
			r.Problems = slices.Concat(r.Problems, problems)
			rendered[p.Name] = r
		}
	}
	return catalog.Assemble(packages, rendered), nil
}

// Cache keeps what the last two loads have rendered. It is for one goroutine; nil keeps nothing.
type Cache = recent.Cache[string, catalog.Rendered]

// render makes the objects of one package, or takes them from an earlier load. A failure of this
// machine is not kept: the next load tries again, for which the seed is marked as Failed.
func render(ctx context.Context, c *Cache, p *catalog.Package, host *plugin.Host, plugins []core.Plugin) (catalog.Rendered, error) {
	at := slices.IndexFunc(All, func(r Renderer) bool { return r.Takes(p) })
	renderer := All[at]
	key := digest(renderer, p, plugins)
	if r, known := c.Get(key); known {
		return r, nil
	}
	r, err := renderer.Render(ctx, p)
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil:
		problem := p.Problem(v1alpha1.ReasonRenderFailed, manifest.Source{File: p.Path}, err.Error(), "Furrow retries in the next pass.")
		return catalog.Rendered{Problems: manifest.Problems{problem}, Failed: true}, nil
	}
	if r, err = applyPlugins(ctx, p, r, host, plugins); err != nil {
		return r, err
	}
	if !r.Failed {
		c.Put(key, r)
	}
	return r, nil
}

// digest is that of all that a rendering is made of. Lengths are part of it, so no two lists
// of files have the same bytes.
func digest(r Renderer, p *catalog.Package, plugins []core.Plugin) string {
	h := sha256.New()
	options, err := json.Marshal(p.Render())
	if err != nil {
		panic(fmt.Sprintf("spec.render is plain values: %v", err))
	}
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x00%s\n%s\n", r.Name(), p.Name, p.Path, p.Root, p.RenderAt(), options)
	for _, one := range plugins {
		one.Module = nil // its digest is enough
		data, err := json.Marshal(one)
		if err != nil {
			panic(fmt.Sprintf("a plugin is plain values: %v", err))
		}
		fmt.Fprintf(h, "%d\n%s\n", len(data), data)
	}
	for _, file := range slices.Sorted(maps.Keys(p.Files)) {
		fmt.Fprintf(h, "%d %s\n%d\n", len(file), file, len(p.Files[file]))
		h.Write(p.Files[file])
	}
	return hex.EncodeToString(h.Sum(nil))
}
