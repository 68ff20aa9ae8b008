package plugin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plugin"
)

// seed is what plugins of the tests read.
const seed = `apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: web, annotations: {furrow.dev/depends-on: core/Namespace/web}}
data: {n: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: web}
stringData: {token: hunter2-hunter2}
`

func objects(t *testing.T, file, text string) []manifest.Object {
	t.Helper()
	found, err := manifest.Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func network(protocol v1alpha1.PluginProtocol) plugin.Plugin {
	return plugin.Plugin{
		Name: "network", Source: manifest.Source{File: "plugins.yaml", Line: 3}, Protocol: protocol,
		Executable: "network", Digest: "sha256:aa", Timeout: 10 * time.Second, Memory: 256 << 20,
	}
}

func shown(problems manifest.Problems) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s %s\n", p.Reason, p.Error())
	}
	return b.String()
}

const (
	namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"
	rest      = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: web}\nstringData: {token: hunter2-hunter2}\n"
	configMap = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web, annotations: {furrow.dev/depends-on: core/Namespace/web}}\ndata: {n: \"1\"}\n"
)

// TestAPluginThatFailsChangesNothing: whatever it does, its problem names it, and the objects are
// those before.
func TestAPluginThatFailsChangesNothing(t *testing.T) {
	krm, planter := v1alpha1.PluginProtocolKRM, v1alpha1.PluginProtocolPlanter
	done := func(output string) plugin.Run { return plugin.Run{Ending: plugin.Exited, Output: []byte(output)} }
	list := func(items string) plugin.Run {
		return done("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: " + items + "\n")
	}
	for name, tc := range map[string]struct {
		protocol v1alpha1.PluginProtocol
		run      plugin.Run
		want     string
	}{
		"it ends with another code":   {planter, plugin.Run{Ending: plugin.Exited, Code: 3, Stderr: "Traceback\n  token hunter2-hunter2 at https://me:pw@host/x\n"}, "PluginFailed plugins.yaml:3: Plugin \"network\": it ended with code 3: Traceback token REDACTED at https://host/x. Correct the plugin, or what it objects to.\n"},
		"it crashes":                  {planter, plugin.Run{Ending: plugin.Signalled, Detail: "segmentation fault"}, "PluginFailed plugins.yaml:3: Plugin \"network\": it was ended by a signal (segmentation fault). Correct the plugin.\n"},
		"it hangs":                    {planter, plugin.Run{Ending: plugin.OverTime, Stderr: "waiting"}, "PluginBudget plugins.yaml:3: Plugin \"network\": it took longer than 10s: waiting. Make it faster, or raise spec.timeout.\n"},
		"it takes memory":             {planter, plugin.Run{Ending: plugin.OverMemory}, "PluginBudget plugins.yaml:3: Plugin \"network\": it took more than 256 MiB of memory. Make it use less, or raise spec.memory.\n"},
		"it floods":                   {planter, plugin.Run{Ending: plugin.OverOutput}, "PluginBudget plugins.yaml:3: Plugin \"network\": it wrote more than 64 MiB. Make it write the objects of the seed, and nothing else.\n"},
		"it is not allowed":           {planter, plugin.Run{Ending: plugin.NotAllowed}, "PluginNotAllowed plugins.yaml:3: Plugin \"network\": executables are not allowed here. Start Furrow with --plugins and the directory that holds network, or use a WASM module.\n"},
		"it is another one":           {planter, plugin.Run{Ending: plugin.OtherDigest, Detail: "sha256:bb"}, "PluginDigest plugins.yaml:3: Plugin \"network\": spec.digest is sha256:aa, and the executable network has sha256:bb. Review what changed, and correct spec.digest.\n"},
		"it writes nothing":           {planter, done(""), "PluginOutput plugins.yaml:3: Plugin \"network\": it wrote no objects. Correct the plugin: what it writes replaces the whole seed.\n"},
		"it writes half a document":   {planter, done(namespace + rest + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namesp"), "PluginOutput"},
		"it writes half a name":       {planter, done(namespace + rest + "---\napiVersion: v1\nkind: Conf"), "PluginOutput"},
		"it drops objects":            {planter, done(namespace + rest), "PluginRemoval plugins.yaml:3: Plugin \"network\": it removed core/ConfigMap/web/a of seeds/web.yaml:5. Correct the plugin, or set spec.allowRemoval if it may remove objects.\n"},
		"it writes a Seed":            {planter, done(namespace + rest + configMap + "---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\n"), "PluginOutput plugins.yaml:3: Plugin \"network\": it wrote furrow.dev/Seed/web, which plugins may not write. Correct the plugin: it cannot write Seed documents, nor encrypted ones.\n"},
		"a function writes text":      {krm, done("hello"), "PluginOutput"},
		"a function writes YAML":      {krm, done(namespace), "PluginOutput plugins.yaml:3: Plugin \"network\": what it wrote is not a ResourceList: kind is \"Namespace\". Correct the plugin; with the protocol of Planter, set spec.protocol.\n"},
		"a function of old":           {krm, done("apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\nitems: []\n"), "PluginOutput plugins.yaml:3: Plugin \"network\": what it wrote is not a ResourceList: apiVersion is \"config.kubernetes.io/v1alpha1\". Correct the plugin; with the protocol of Planter, set spec.protocol.\n"},
		"a function without items":    {krm, done("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"), "PluginOutput plugins.yaml:3: Plugin \"network\": what it wrote is not a ResourceList: it has no items. Correct the plugin; with the protocol of Planter, set spec.protocol.\n"},
		"a function with half a list": {krm, done(`{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [{"apiV`), "PluginOutput"},
		"a function with odd items":   {krm, list("[{apiVersion: v1, metadata: {name: x}}]"), "PluginOutput plugins.yaml:3: Plugin \"network\": what it wrote is not a ResourceList: item 0 is not an object with a kind. Correct the plugin; with the protocol of Planter, set spec.protocol.\n"},
		"a function drops all":        {krm, list("[]"), "PluginRemoval"},
		"a function finds an error":   {krm, plugin.Run{Ending: plugin.Exited, Code: 1, Stderr: "see results", Output: []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults:\n- {message: fine, severity: info}\n- {message: \"bad\\nvalue hunter2-hunter2\", severity: error, resourceRef: {apiVersion: v1, kind: ConfigMap, name: a, namespace: web}, field: {path: data.n}}\n")}, "PluginFinding seeds/web.yaml:5: ConfigMap \"a\": plugin network: bad value REDACTED (data.n)\n"},
		"results that are none":       {krm, done("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults: oops\n"), "PluginOutput"},
	} {
		t.Run(name, func(t *testing.T) {
			before := objects(t, "seeds/web.yaml", seed)
			after, warnings, problems := network(tc.protocol).Output(before, tc.run)
			got := shown(problems)
			if strings.HasSuffix(tc.want, "\n") && got != tc.want || !strings.HasPrefix(got, tc.want) || got == "" {
				t.Errorf("got  %swant %s", got, tc.want)
			}
			if !strings.Contains(got, "network") {
				t.Errorf("the plugin is not named: %s", got)
			}
			if diff := cmp.Diff(before, after); diff != "" || len(warnings) > 0 {
				t.Errorf("it changed the seed: %v %s", warnings, diff)
			}
		})
	}
}

// TestWhatAPluginWroteIsKnown: of annotations by value and entry, through several plugins.
func TestWhatAPluginWroteIsKnown(t *testing.T) {
	before := objects(t, "seeds/web.yaml", seed)
	p := network(v1alpha1.PluginProtocolPlanter)
	first, _, problems := p.Output(before, plugin.Run{Ending: plugin.Exited, Output: []byte(namespace + rest +
		strings.Replace(configMap, "core/Namespace/web}", `"core/Namespace/web, core/Secret/web/s", furrow.dev/role: Workload}`, 1) +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: new, namespace: web, annotations: {furrow.dev/cluster: c1, internal.config.kubernetes.io/index: \"3\", config.kubernetes.io/path: x}}\n")})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p.Name = "second"
	text := ""
	for _, o := range first {
		data, err := o.WithAnnotation("note", "x").Bytes()
		if err != nil {
			t.Fatal(err)
		}
		text += "---\n" + string(data)
	}
	after, _, problems := p.Output(first, plugin.Run{Ending: plugin.Exited, Output: []byte(text)})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	find := func(name string) manifest.Object {
		for _, o := range after {
			if o.ID.Name == name {
				return o
			}
		}
		t.Fatalf("there is no %s", name)
		return manifest.Object{}
	}
	a, added := find("a"), find("new")
	for _, tc := range []struct {
		o                manifest.Object
		key, value, want string
	}{
		{a, "furrow.dev/depends-on", "core/Namespace/web", ""},
		{a, "furrow.dev/depends-on", " core/Secret/web/s", "network"},
		{a, "furrow.dev/role", "Workload", "network"},
		{a, "note", "x", "second"},
		{added, "furrow.dev/cluster", "c1", "network"},
	} {
		if got := tc.o.WrittenBy(tc.key, tc.value); got != tc.want {
			t.Errorf("%s: %s: %s was written by %q, want %q", tc.o.ID, tc.key, tc.value, got, tc.want)
		}
	}
	if a.Source != before[1].Source || added.Source != p.Source {
		t.Errorf("the sources are %s and %s", a.Source, added.Source)
	}
	if _, marked := added.Annotations()["internal.config.kubernetes.io/index"]; marked || added.Annotation("config.kubernetes.io/path") != "" {
		t.Errorf("annotations of the protocol are left: %v", added.Annotations())
	}
}

func TestWhereAPersonPutsAnObjectComesFirst(t *testing.T) {
	before := objects(t, "seeds/web.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {furrow.dev/cluster: mine}}\n")
	for _, annotation := range []string{"furrow.dev/cluster: other", "furrow.dev/role: Workload", "furrow.dev/cluster: mine, furrow.dev/role: Workload", "x: z"} {
		run := plugin.Run{Ending: plugin.Exited, Output: []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {" + annotation + "}}\n")}
		after, warnings, problems := network(v1alpha1.PluginProtocolPlanter).Output(before, run)
		if len(problems) > 0 || len(warnings) != 1 || warnings[0].Reason != v1alpha1.ReasonConflictingPlacement {
			t.Errorf("%s: problems %v, warnings %v", annotation, problems, warnings)
		}
		if got := after[0].Annotations(); got["furrow.dev/cluster"] != "mine" || got["furrow.dev/role"] != "" || after[0].WrittenBy("furrow.dev/cluster", "mine") != "" {
			t.Errorf("%s: the annotations are %v", annotation, got)
		}
	}
}

func TestEncryptedAndSeedDocumentsAreNotForPlugins(t *testing.T) {
	before := objects(t, "seeds/web.yaml", namespace+"---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: e, namespace: web}\ndata: {k: 'ENC[AES256_GCM,data:xx,type:str]'}\nsops: {mac: x}\n")
	for _, protocol := range []v1alpha1.PluginProtocol{v1alpha1.PluginProtocolKRM, v1alpha1.PluginProtocolPlanter} {
		p := network(protocol)
		input, err := p.Input(before)
		if err != nil || strings.Contains(string(input), "ENC[") || strings.Contains(string(input), "Seed") || !strings.Contains(string(input), "Namespace") {
			t.Errorf("%s: it reads %s, %v", protocol, input, err)
		}
		after, _, problems := p.Output(before, plugin.Run{Ending: plugin.Exited, Output: input})
		if len(problems) > 0 || len(after) != len(before) {
			t.Errorf("%s: %d objects, %v", protocol, len(after), problems)
		}
	}
}

func TestAFunctionReadsItsConfigAndWarns(t *testing.T) {
	before := objects(t, "seeds/web.yaml", seed)
	p := network(v1alpha1.PluginProtocolKRM)
	p.Config = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"label": "x"}}
	input, err := p.Input(before)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"apiVersion": "config.kubernetes.io/v1"`, `"kind": "ResourceList"`, `"functionConfig": {`, `"label": "x"`, `"items": [`} {
		if !strings.Contains(string(input), want) {
			t.Errorf("the input has no %s: %s", want, input)
		}
	}
	for name, results := range map[string]string{
		"v1":      `"results": [{"message": "careful", "severity": "warning", "resourceRef": {"apiVersion": "v1", "kind": "Namespace", "name": "web"}}, {"message": "by the way"}]`,
		"v1beta1": `"results": {"name": "x", "items": [{"message": "careful", "severity": "warning", "resourceRef": {"apiVersion": "v1", "kind": "Namespace", "name": "web"}}, {"message": "by the way"}]}`,
	} {
		output := strings.Replace(string(input), `"kind": "ResourceList"`, `"kind": "ResourceList", `+results, 1)
		output = strings.Replace(output, "config.kubernetes.io/v1", "config.kubernetes.io/"+name, 1)
		after, warnings, problems := p.Output(before, plugin.Run{Ending: plugin.Exited, Output: []byte(output)})
		if diff := cmp.Diff(before, after); diff != "" || len(problems) > 0 {
			t.Errorf("%s: %v %s", name, problems, diff)
		}
		want := "PluginFinding seeds/web.yaml:1: Namespace \"web\": plugin network: careful\nPluginFinding plugins.yaml:3: Plugin \"network\": by the way\n"
		if diff := cmp.Diff(want, shown(warnings)); diff != "" {
			t.Errorf("%s: the warnings differ: %s", name, diff)
		}
	}
}
