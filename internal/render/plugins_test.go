package render_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/plugin"
	"github.com/furrow-dev/furrow/internal/render"
)

// TestMain lets the test binary be its own worker, as furrow is.
func TestMain(m *testing.M) {
	if worker, code := plugin.Worker(os.Args[0], os.Args[1:], os.Stdin, os.Stdout); worker {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// needs skips a test where a program is absent that it runs.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: executables run as plugins only on Linux")
	}
	for _, program := range programs {
		cmd := exec.Command("/usr/bin/env", program, "-c", "")
		cmd.Env = []string{}
		if err := cmd.Run(); err != nil {
			t.Skipf("SKIPPED: %s is not installed for all users, so no plugin in it is run (%v)", program, err)
		}
	}
}

var marked = regexp.MustCompile("(?s)<!-- ([^\n]*) -->\n```\\w+\n(.*?)```\n")

// TestTheExamplesOfTheDocumentationRun: exactly those of docs/plugins.md, with the digests that it
// has, but for that of the module, which depends on the toolchain.
func TestTheExamplesOfTheDocumentationRun(t *testing.T) {
	needs(t, "sh", "python3")
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: go is not installed, so no module is built")
	}
	page, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	tree, dir, work := fstest.MapFS{}, t.TempDir(), t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := ""
	for _, m := range marked.FindAllStringSubmatch(string(page), -1) {
		switch name := m[1]; {
		case filepath.Ext(name) == ".yaml":
			tree[name] = &fstest.MapFile{Data: []byte(m[2])}
		case strings.HasPrefix(name, "build "):
			build = m[2]
		case filepath.Ext(name) == ".go":
			write(filepath.Join(work, name), []byte(m[2]))
		default:
			write(filepath.Join(dir, name), []byte(m[2]))
		}
	}
	if err := os.Mkdir(filepath.Join(work, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-ec", build)
	cmd.Dir, cmd.Env = work, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	module, err := os.ReadFile(filepath.Join(work, "plugins/labels.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	tree["plugins/labels.wasm"] = &fstest.MapFile{Data: module}
	labels := tree["plugins/labels.yaml"]
	labels.Data = regexp.MustCompile(`sha256:0{64}`).ReplaceAll(labels.Data, []byte(digestOf(module)))
	labels.Data = bytes.Replace(labels.Data, []byte("spec:\n"), []byte("spec:\n  timeout: 1m\n"), 1) // the race detector makes modules slow
	tree["clusters.yaml"] = &fstest.MapFile{Data: []byte(clusters)}

	cat := load(t, tree, render.Options{Plugins: dir})
	outcome := plan.Compute(plan.Input{Catalog: cat, Owner: "acme/test"})["web"]
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	p := outcome.Plan
	var got []string
	for _, one := range p.Plugins {
		got = append(got, "ran "+one.Name)
	}
	for _, one := range p.Placements {
		if one.Rule == "plugin" {
			got = append(got, fmt.Sprintf("%s on %s: %s", one.Object, strings.Join(one.Clusters, ", "), one.Why))
		}
	}
	for _, d := range p.Dependencies {
		if d.Rule == "plugin" {
			got = append(got, fmt.Sprintf("%s waits: %s", d.From.Object, d.Why))
		}
	}
	for _, w := range p.Warnings {
		got = append(got, string(w.Reason)+": "+w.Message)
	}
	want := []string{
		"ran closed", "ran edge", "ran labels",
		"apps/Deployment/web/web on east: plugin edge wrote furrow.dev/cluster-selector: site=edge",
		"networking.k8s.io/NetworkPolicy/web/closed waits: plugin closed wrote furrow.dev/depends-on: apps/Deployment/web/web",
		"PluginFinding: plugin edge: one replica is not enough (spec.replicas).",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan differs (-want +got):\n%s", diff)
	}
	web, _ := cat.Seed("web")
	for _, o := range web.Objects() {
		if o.Labels()["team"] != "shop" {
			t.Errorf("%s has the labels %v", o.ID, o.Labels())
		}
	}
}

const clusters = `apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: mgmt}
spec: {role: Management}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: east, labels: {site: edge}}
---
apiVersion: furrow.dev/v1alpha1
kind: GitOpsRepo
metadata: {name: gitops}
spec: {url: https://git.example/acme/gitops}
`

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"

// directory holds executable scripts.
func directory(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// document is a Plugin with the protocol of Planter.
func document(name, script, fields string) string {
	return fmt.Sprintf("apiVersion: furrow.dev/v1alpha1\nkind: Plugin\nmetadata: {name: %s}\nspec: {executable: %s, protocol: Planter, digest: %q%s}\n", name, name, digestOf([]byte(script)), fields)
}

// TestAPluginThatFailsHoldsItsSeedAlone: by its name, with whatever a little program does.
func TestAPluginThatFailsHoldsItsSeedAlone(t *testing.T) {
	needs(t, "sh")
	for name, tc := range map[string]struct {
		script, fields string
		reason         v1alpha1.Reason
		want           string
	}{
		"one that crashes":                {"kill -SEGV $$", "", v1alpha1.ReasonPluginFailed, "it was ended by a signal (segmentation fault)"},
		"one that objects":                {"echo no luck >&2; exit 3", "", v1alpha1.ReasonPluginFailed, "it ended with code 3: no luck"},
		"one that hangs":                  {"sleep 1000", ", timeout: 300ms", v1alpha1.ReasonPluginBudget, "it took longer than 300ms"},
		"one that floods":                 {"cat /dev/zero", "", v1alpha1.ReasonPluginBudget, "it wrote more than 64 MiB"},
		"one that takes memory":           {"x=x; while :; do x=$x$x$x$x; done", ", memory: 32Mi", v1alpha1.ReasonPluginBudget, "it took more than 32 MiB of memory"},
		"one that writes half a document": {"cat; echo ---; printf 'apiVersion: v1\\nkind: Conf'", "", v1alpha1.ReasonPluginOutput, "what it wrote cannot be used: "},
		"one that drops objects":          {"cat >/dev/null; printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: b, namespace: default}\\n'", "", v1alpha1.ReasonPluginRemoval, "it removed core/ConfigMap/default/a of seeds/web/a.yaml:1"},
		"one that writes nothing":         {"cat >/dev/null", ", allowRemoval: true", v1alpha1.ReasonPluginOutput, "it wrote no objects"},
		"one that may drop objects":       {"cat >/dev/null; printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: b, namespace: default}\\n'", ", allowRemoval: true", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			script := "#!/bin/sh\n" + tc.script + "\n"
			tree := fstest.MapFS{
				"plugins.yaml":       {Data: []byte(document("bad", script, tc.fields))},
				"clusters.yaml":      {Data: []byte(clusters)},
				"seeds/web/a.yaml":   {Data: []byte(configMap)},
				"seeds/web/web.yaml": {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {plugins: [bad]}\n")},
				"seeds/other.yaml":   {Data: []byte(configMap[:len(configMap)-1] + "\n")},
			}
			cat := load(t, tree, render.Options{Plugins: directory(t, map[string]string{"bad": script})})
			other, _ := cat.Seed("other")
			web, _ := cat.Seed("web")
			if other.Err != nil || len(other.Plugins) > 0 {
				t.Errorf("the other seed: %v", other.Err)
			}
			if tc.reason == "" {
				if web.Err != nil || len(web.Objects()) != 1 || web.Objects()[0].ID.Name != "b" {
					t.Errorf("the seed has %v, %v", web.Objects(), web.Err)
				}
				return
			}
			p := manifest.ProblemOf(web.Err)
			if p.Reason != tc.reason || !strings.HasPrefix(p.Message, `for seed "web": `+tc.want) || p.Object != `Plugin "bad"` || p.Seed != "web" || p.Source.String() != "plugins.yaml:1" {
				t.Errorf("the problem is %s %+v", p.Reason, web.Err)
			}
		})
	}
}

func TestNothingOfARepositoryIsExecuted(t *testing.T) {
	script := "#!/bin/sh\ncat\n"
	tree := fstest.MapFS{
		"plugins/bad":      {Data: []byte(script), Mode: 0o755},
		"bad":              {Data: []byte(script), Mode: 0o755},
		"plugins.yaml":     {Data: []byte(document("bad", script, ", seeds: All"))},
		"seeds/web/a.yaml": {Data: []byte(configMap)},
	}
	for _, dir := range []string{"", t.TempDir()} {
		cat := load(t, tree, render.Options{Plugins: dir})
		web, _ := cat.Seed("web")
		if manifest.ReasonOf(web.Err) != v1alpha1.ReasonPluginNotAllowed || !web.Failed {
			t.Errorf("with directory %q: %v", dir, web.Err)
		}
	}
}

// TestPluginsRunInTheirOrderForEachVariant: by weight, then by name, each on what the one before
// wrote.
func TestPluginsRunInTheirOrderForEachVariant(t *testing.T) {
	needs(t, "sh")
	scripts, docs := map[string]string{}, []string{}
	for name, weight := range map[string]int{"zeta": -1, "beta": 0, "alpha": 0, "first": -5, "last": 7} {
		scripts[name] = "#!/bin/sh\nsed 's/trace: \\(.*\\)/trace: \\1-" + name + "/'\n"
		docs = append(docs, document(name, scripts[name], fmt.Sprintf(", seeds: All, weight: %d", weight)))
	}
	slices.Sort(docs)
	tree := fstest.MapFS{
		"plugins.yaml":                               {Data: []byte(strings.Join(docs, "---\n"))},
		"seeds/web/base/kustomization.yaml":          {Data: []byte("resources: [a.yaml]\n")},
		"seeds/web/base/a.yaml":                      {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {trace: it}\n")},
		"seeds/web/overlays/east/kustomization.yaml": {Data: []byte("resources: [../../base]\nnamePrefix: east-\n")},
		"seeds/web.yaml":                             {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {render: {kustomize: {variants: [{overlay: base}, {overlay: overlays/east, clusters: [east]}]}}}\n")},
	}
	cat := load(t, tree, render.Options{Plugins: directory(t, scripts)})
	web, _ := cat.Seed("web")
	if web.Err != nil || len(web.Variants) != 2 {
		t.Fatal(web.Err)
	}
	for _, v := range web.Variants {
		if got := v.Objects[0].Text("data", "trace"); got != "it-first-zeta-alpha-beta-last" {
			t.Errorf("variant %s: %s", v.Name, got)
		}
	}
	if web.Variants[0].Objects[0].Source.File != "seeds/web/base/a.yaml" {
		t.Errorf("a changed object comes from %s", web.Variants[0].Objects[0].Source)
	}
}

// TestAPluginRunsAgainOnlyForOtherInputs: the second load has no plugin that it could run.
func TestAPluginRunsAgainOnlyForOtherInputs(t *testing.T) {
	needs(t, "sh")
	script := "#!/bin/sh\ncat\n"
	tree := fstest.MapFS{
		"plugins.yaml":     {Data: []byte(document("same", script, ", seeds: All"))},
		"seeds/web/a.yaml": {Data: []byte(configMap)},
	}
	options := render.Options{Plugins: directory(t, map[string]string{"same": script}), Cache: &render.Cache{}}
	errOf := func() error {
		web, _ := load(t, tree, options).Seed("web")
		return web.Err
	}
	if err := errOf(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(options.Plugins, "same")); err != nil {
		t.Fatal(err)
	}
	if err := errOf(); err != nil {
		t.Errorf("it ran again: %v", err)
	}
	for name, change := range map[string]func(){
		"a file": func() { tree["seeds/web/a.yaml"] = &fstest.MapFile{Data: []byte(configMap + "data: {x: y}\n")} },
		"the timeout": func() {
			tree["plugins.yaml"] = &fstest.MapFile{Data: []byte(document("same", script, ", seeds: All, timeout: 9s"))}
		},
	} {
		if change(); errOf() == nil {
			t.Errorf("%s changed, and it did not run again", name)
		}
	}
}

// TestABrokenPluginDocumentHoldsTheSeedsThatUseIt: a seed must not be planned without a plugin.
func TestABrokenPluginDocumentHoldsTheSeedsThatUseIt(t *testing.T) {
	module := []byte("\x00asm\x01\x00\x00\x00")
	good := digestOf(module)
	plugins := func(spec string) string {
		return "apiVersion: furrow.dev/v1alpha1\nkind: Plugin\nmetadata: {name: p}\nspec: " + spec + "\n"
	}
	for name, tc := range map[string]struct {
		document string
		// using and other are the reasons of the seed that names the plugin, and of another one.
		using, other v1alpha1.Reason
	}{
		"no document":             {"", v1alpha1.ReasonUnknownPlugin, ""},
		"an unknown field":        {plugins("{module: m.wasm, digest: '" + good + "', colour: red}"), v1alpha1.ReasonInvalidField, ""},
		"seeds misspelt":          {plugins("{module: m.wasm, digest: '" + good + "', seed: All}"), v1alpha1.ReasonInvalidField, v1alpha1.ReasonInvalidField},
		"unknown seeds":           {plugins("{module: m.wasm, digest: '" + good + "', seeds: Some}"), v1alpha1.ReasonInvalidField, v1alpha1.ReasonInvalidField},
		"two programs":            {plugins("{module: m.wasm, executable: m, digest: '" + good + "'}"), v1alpha1.ReasonInvalidField, ""},
		"no program":              {plugins("{digest: '" + good + "'}"), v1alpha1.ReasonInvalidField, ""},
		"no digest":               {plugins("{module: m.wasm}"), v1alpha1.ReasonInvalidField, ""},
		"another digest":          {plugins("{module: m.wasm, digest: '" + digestOf(nil) + "'}"), v1alpha1.ReasonPluginDigest, ""},
		"another digest, for all": {plugins("{module: m.wasm, digest: '" + digestOf(nil) + "', seeds: All}"), v1alpha1.ReasonPluginDigest, v1alpha1.ReasonPluginDigest},
		"a module that is absent": {plugins("{module: n.wasm, digest: '" + good + "'}"), v1alpha1.ReasonFileUnreadable, ""},
		"a module outside":        {plugins("{module: ../m.wasm, digest: '" + good + "'}"), v1alpha1.ReasonInvalidField, ""},
		"a link outside":          {plugins("{module: link.wasm, digest: '" + good + "'}"), v1alpha1.ReasonFileUnreadable, ""},
		"an executable's path":    {plugins("{executable: ../m, digest: '" + good + "'}"), v1alpha1.ReasonInvalidField, ""},
		"too long":                {plugins("{module: m.wasm, digest: '" + good + "', timeout: 1h}"), v1alpha1.ReasonInvalidField, ""},
		"too much":                {plugins("{module: m.wasm, digest: '" + good + "', memory: 2Gi}"), v1alpha1.ReasonInvalidField, ""},
		"a config for Planter":    {plugins("{module: m.wasm, digest: '" + good + "', protocol: Planter, config: {a: b}}"), v1alpha1.ReasonInvalidField, ""},
		"twice":                   {plugins("{module: m.wasm, digest: '"+good+"'}") + "---\n" + plugins("{module: m.wasm, digest: '"+good+"'}"), v1alpha1.ReasonDuplicateDocument, ""},
		"no YAML":                 {"apiVersion: furrow.dev/v1alpha1\nkind: Plugin\n\tmetadata: {name: p}\n", v1alpha1.ReasonBrokenDocument, v1alpha1.ReasonBrokenDocument},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{
				"m.wasm":           {Data: module},
				"link.wasm":        {Data: []byte("../outside.wasm"), Mode: os.ModeSymlink | 0o777},
				"plugins.yaml":     {Data: []byte(tc.document)},
				"seeds/web/a.yaml": {Data: []byte(configMap)},
				"seeds/web.yaml":   {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {plugins: [p]}\n")},
				"seeds/other.yaml": {Data: []byte(configMap)},
			}
			cat := load(t, tree, render.Options{})
			for seed, want := range map[string]v1alpha1.Reason{"web": tc.using, "other": tc.other} {
				s, _ := cat.Seed(seed)
				if got := manifest.ReasonOf(s.Err); got != want {
					t.Errorf("%s: the reason is %q, want %q: %v", seed, got, want, s.Err)
				}
			}
			if (tc.document != "") != (len(cat.Problems) > 0) {
				t.Errorf("the problems are %v", cat.Problems)
			}
		})
	}
}

// TestPluginsAreInTheDigestOfThePlan: also where they change nothing of it.
func TestPluginsAreInTheDigestOfThePlan(t *testing.T) {
	needs(t, "sh")
	inputs := map[string]string{}
	for name, tc := range map[string]struct{ script, config string }{
		"one": {"#!/bin/sh\ncat\n", ""}, "another program": {"#!/bin/sh\n\ncat\n", ""},
		"a config": {"#!/bin/sh\ncat\n", ", protocol: KRM, config: {a: b}"}, "another config": {"#!/bin/sh\ncat\n", ", protocol: KRM, config: {a: c}"},
	} {
		tree := fstest.MapFS{
			"clusters.yaml":    {Data: []byte(clusters)},
			"plugins.yaml":     {Data: []byte(strings.Replace(document("same", tc.script, ", seeds: All"+tc.config), "protocol: Planter, ", map[bool]string{true: "protocol: Planter, "}[tc.config == ""], 1))},
			"seeds/web/a.yaml": {Data: []byte(configMap)},
		}
		outcome := plan.Compute(plan.Input{Catalog: load(t, tree, render.Options{Plugins: directory(t, map[string]string{"same": tc.script})}), Owner: "acme/test"})["web"]
		if outcome.Err != nil {
			t.Fatalf("%s: %v", name, outcome.Err)
		}
		inputs[outcome.Plan.Inputs] = name
	}
	if len(inputs) != 4 {
		t.Errorf("different plugins have equal digests: %v", slices.Collect(maps.Values(inputs)))
	}
}
