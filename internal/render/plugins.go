package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	core "github.com/furrow-dev/furrow/internal/core/plugin"
	"github.com/furrow-dev/furrow/internal/plugin"
)

// applyPlugins runs plugins, each for all variants of what was rendered, and each with what the one
// before it wrote. The first that fails ends it. What could be rendered is not changed: a load
// before may have it.
func applyPlugins(ctx context.Context, p *catalog.Package, r catalog.Rendered, host *plugin.Host, plugins []core.Plugin) (catalog.Rendered, error) {
	if len(r.Problems) > 0 || len(plugins) == 0 {
		return r, nil
	}
	r.Variants = slices.Clone(r.Variants)
	for _, one := range plugins {
		r.Plugins = append(r.Plugins, ran(one))
		left := one.Timeout
		for i, v := range r.Variants {
			input, err := one.Input(v.Objects)
			if err != nil {
				r.Problems = append(r.Problems, manifest.ProblemsOf(err)...)
				return r, nil
			}
			began := time.Now() //nolint:forbidigo // the time that a plugin takes is bounded
			run, err := host.Run(ctx, one, input, left)
			if err != nil {
				return r, err
			}
			took := time.Since(began) //nolint:forbidigo // see above
			left = max(left-took, time.Millisecond)
			objects, warnings, problems := one.Output(v.Objects, run)
			for _, problem := range problems {
				problem.Seed = p.Name
				problem.Message = fmt.Sprintf("for seed %q: %s", p.Name, problem.Message)
				r.Problems = append(r.Problems, problem)
			}
			r.Variants[i].Objects = objects
			r.Warnings = append(r.Warnings, warnings...)
			if len(problems) > 0 {
				r.Failed = ofMachine[run.Ending]
				return r, nil
			}
			if took < maxRepeated && len(v.Objects) > 0 {
				again, err := host.Run(ctx, one, input, left)
				if err != nil {
					return r, err
				}
				if w := one.Unstable(v.Objects, objects, again); w != nil {
					w.Seed = p.Name
					r.Warnings = append(r.Warnings, *w)
				}
			}
		}
	}
	return r, nil
}

// maxRepeated is how long a plugin may take to be run once more, to find out whether it writes the same.
const maxRepeated = 2 * time.Second

// ofMachine are the endings that are up to the machine, and may be others in the next load.
var ofMachine = map[core.Ending]bool{core.NotAllowed: true, core.NotFound: true, core.NotStarted: true, core.OtherDigest: true}

// ran returns what a plan says of a plugin.
func ran(p core.Plugin) catalog.RanPlugin {
	out := catalog.RanPlugin{Name: p.Name, Digest: p.Digest}
	if p.Config != nil {
		data, err := json.Marshal(p.Config)
		if err != nil {
			panic(fmt.Sprintf("a configuration is JSON: %v", err))
		}
		sum := sha256.Sum256(data)
		out.Config = "sha256:" + hex.EncodeToString(sum[:])
	}
	return out
}
