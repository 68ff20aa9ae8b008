package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// everyCommand are all commands but those that cobra adds.
func everyCommand() []*cobra.Command {
	var out []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		out = append(out, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
	return out
}

func TestEveryCommandsHelpHasAnExample(t *testing.T) {
	for _, c := range everyCommand() {
		words := strings.Fields(c.CommandPath())[1:]
		r := call(t.Context(), "", append(words, "--help")...)
		if r.code != exitOK || r.stderr != "" {
			t.Errorf("%s --help ends with %d: %s", c.CommandPath(), r.code, r.stderr)
		}
		_, examples, _ := strings.Cut(r.stdout, "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		if !strings.Contains(examples, strings.TrimSuffix(c.CommandPath(), " ")) {
			t.Errorf("%s --help has no example of it:\n%s", c.CommandPath(), r.stdout)
		}
	}
}

func TestEveryCommandHasAPlaceInTheHelp(t *testing.T) {
	help := call(t.Context(), "").stdout
	for _, g := range groups() {
		mustContain(t, help, g.title)
	}
	for _, c := range newRoot().Commands() {
		mustContain(t, help, "\n  "+c.Name()+" ")
		if strings.HasSuffix(c.Short, ".") {
			t.Errorf("the short text of %s ends with a full stop", c.Name())
		}
	}
}

func TestFlagsAreOnlyWhereTheyMeanSomething(t *testing.T) {
	cases := map[string][]string{
		"id":             {"abandon", "adopt", "confirm", "controller", "diff", "explain", "list", "merge", "pause", "plan", "reject", "resume", "retry", "run", "show", "skip", "status", "verify", "wait"},
		"environment":    {"abandon", "adopt", "confirm", "controller", "diff", "explain", "list", "merge", "pause", "plan", "reject", "resume", "retry", "run", "show", "skip", "status", "verify", "wait"},
		"strict":         {"controller", "explain", "graph", "lint", "plan", "run"},
		"deletion-guard": {"controller", "run"},
		"output":         {"explain", "graph", "lint", "list", "plan", "replay", "show", "status", "version"},
	}
	for flag, want := range cases {
		t.Run(flag, func(t *testing.T) {
			var got []string
			for _, c := range everyCommand() {
				if c.Flags().Lookup(flag) != nil {
					got = append(got, c.Name())
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("commands with --%s (-want +got):\n%s", flag, diff)
			}
		})
	}
}

func TestACommandThatIsCalledInAWrongWayEndsWith2(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"a command that does not exist":         {[]string{"sow"}, `there is no command "sow"`},
		"a command of pr that does not exist":   {[]string{"pr", "sow"}, `there is no command "pr sow"`},
		"a command with a typo":                 {[]string{"statsu"}, `there is no command "statsu". Did you mean status?`},
		"a command of pr with a typo":           {[]string{"pr", "marge"}, `there is no command "pr marge". Did you mean merge?`},
		"help for a command that does not":      {[]string{"help", "sow"}, `there is no command "sow"`},
		"help for a command with a typo":        {[]string{"help", "pr", "lst"}, `there is no command "pr lst". Did you mean list?`},
		"completion for an unknown shell":       {[]string{"completion", "foo"}, `there is no command "completion foo"`},
		"completion takes one shell":            {[]string{"completion", "bash", "zsh"}, " takes no arguments"},
		"a flag that does not exist":            {[]string{"plan", "--sow"}, "unknown flag: --sow"},
		"a flag without its value":              {[]string{"plan", "-f"}, "needs an argument"},
		"a number that is none":                 {[]string{"run", "--deletion-guard=many"}, "invalid argument"},
		"plan takes no arguments":               {[]string{"plan", "web"}, "'furrow plan' takes no arguments; a file or directory is given with -f web"},
		"version takes no arguments":            {[]string{"version", "1"}, " takes no arguments"},
		"run takes no arguments":                {[]string{"run", "web"}, " takes no arguments"},
		"explain takes one object":              {[]string{"explain"}, "'furrow explain' takes one object"},
		"status takes one seed at most":         {[]string{"status", "a", "b"}, "it takes the name of one seed, or none"},
		"retry takes one seed":                  {[]string{"retry"}, " takes the name of one seed"},
		"confirm takes one seed":                {[]string{"confirm", "a", "b"}, " takes the name of one seed"},
		"abandon takes one cluster":             {[]string{"abandon"}, " takes the name of one cluster"},
		"merge takes a proposal or --all":       {[]string{"pr", "merge"}, "or --all"},
		"merge takes not both":                  {[]string{"pr", "merge", "a/b/00", "--all"}, "or --all"},
		"an output format that does not exist":  {[]string{"plan", "-o", "xml"}, `invalid argument "xml" for "-o, --output" flag: must be table, wide, yaml, json, dot or mermaid`},
		"version in a format that does not":     {[]string{"version", "-o", "xml"}, `must be table, yaml or json`},
		"plan without anything to plan":         {[]string{"plan"}, "name what to plan, with -f or --control-plane"},
		"run without a control plane":           {[]string{"run", "--once"}, "no control-plane repository is given"},
		"status without a control plane":        {[]string{"status"}, "no control-plane repository is given"},
		"retry without a control plane":         {[]string{"retry", "web"}, "no control-plane repository is given"},
		"a list of proposals of nowhere":        {[]string{"pr", "list"}, "no control-plane repository is given"},
		"an explanation without control plane":  {[]string{"explain", "web"}, "no control-plane repository is given"},
		"an explanation in an unknown language": {[]string{"explain", "web", "-o", "xml"}, `must be table, wide, yaml or json`},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			r := call(t.Context(), "", c.args...)
			if r.code != exitUsage || r.stdout != "" {
				t.Errorf("it ends with %d and prints %q", r.code, r.stdout)
			}
			mustContain(t, r.stderr, "furrow: ", c.want, "--help")
		})
	}
}

func TestExitCodesDistinguishFailuresFromProblemsInTheInput(t *testing.T) {
	control := func(add map[string]string) map[string]string {
		files := fleetFiles()
		files["gitops-repo.yaml"] = document("GitOpsRepo", "fleet", "spec: {url: fleet.git}")
		files["fleet.git/HEAD"] = "ref: refs/heads/main\n"
		maps.Copy(files, add)
		return files
	}
	cases := map[string]struct {
		files map[string]string
		stdin string
		args  []string
		code  int
		want  string
	}{
		"a version is printed":                      {args: []string{"version"}, want: "furrow "},
		"a plan of a good seed":                     {files: control(map[string]string{"seeds/web.yaml": webSeed}), args: []string{"plan", "--control-plane", "."}, want: "Seed web: 6 objects in 6 tiers on 2 clusters"},
		"a plan of a file for imagined clusters":    {files: map[string]string{"web.yaml": webSeed}, args: []string{"plan", "-f", "web.yaml"}, want: "workload tier 02"},
		"a Seed document in the file names it":      {files: map[string]string{"x.yaml": webSeed + "---\n" + document("Seed", "shop", "spec: {}")}, args: []string{"plan", "-f", "x.yaml"}, want: "Seed shop: "},
		"--seed comes before the file's name":       {files: map[string]string{"x.yaml": webSeed}, args: []string{"plan", "-f", "x.yaml", "--seed", "shop"}, want: "Seed shop: "},
		"a directory is planned as one seed":        {files: map[string]string{"pkg/a.yaml": webSeed, "pkg/sub/notes.txt": "no manifest"}, args: []string{"plan", "-f", "pkg"}, want: "Seed pkg: 3 objects"},
		"lint finds nothing":                        {files: control(map[string]string{"seeds/web.yaml": webSeed}), args: []string{"lint", "--control-plane", "."}, want: "1 seed checked: 0 errors, 0 warnings"},
		"lint warns":                                {stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nobody}\n", args: []string{"lint", "-f", "-"}, want: "warning: "},
		"a warning is an error with --strict":       {stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nobody}\n", args: []string{"lint", "-f", "-", "--strict"}, code: exitProblems, want: `error: `},
		"a file that is not there":                  {args: []string{"plan", "-f", "web.yaml"}, code: exitFailed, want: "web.yaml"},
		"a control plane without seeds, planned":    {files: control(nil), args: []string{"plan", "--control-plane", "."}, code: exitFailed, want: "the control plane has no seeds"},
		"a control plane without seeds, checked":    {files: control(nil), args: []string{"lint", "--control-plane", "."}, code: exitFailed, want: "the control plane has no seeds"},
		"a seed that is not there":                  {files: control(map[string]string{"seeds/web.yaml": webSeed}), args: []string{"plan", "--control-plane", ".", "--seed", "shop"}, code: exitFailed, want: `there is no seed "shop"; there are: web`},
		"--out is not empty":                        {files: map[string]string{"web.yaml": webSeed, "out/x": "x"}, args: []string{"plan", "-f", "web.yaml", "--out", "out"}, code: exitFailed, want: "out is not empty"},
		"a plan of a circle":                        {stdin: circleSeed, args: []string{"plan", "-f", "-"}, code: exitProblems, want: "the objects wait for each other in a circle"},
		"a plan of something that is not YAML":      {stdin: "a: b: c", args: []string{"plan", "-f", "-"}, code: exitProblems, want: "standard input:1"},
		"a plan of nothing":                         {args: []string{"plan", "-f", "-"}, code: exitProblems, want: "there is nothing to read"},
		"a plan of comments":                        {stdin: "# later\n", args: []string{"plan", "-f", "-"}, code: exitProblems, want: "it holds no object"},
		"a field of a document that does not exist": {files: control(map[string]string{"seeds/web.yaml": webSeed, "more.yaml": document("Cluster", "north", "spec: {sow: true}")}), args: []string{"plan", "--control-plane", "."}, code: exitProblems, want: "more.yaml:"},
		"lint finds a circle beside a good seed":    {files: control(map[string]string{"seeds/web.yaml": webSeed, "seeds/bad.yaml": circleSeed}), args: []string{"lint", "--control-plane", "."}, code: exitProblems, want: "2 seeds checked: 1 error, 0 warnings"},
		"a good seed is planned beside a circle":    {files: control(map[string]string{"seeds/web.yaml": webSeed, "seeds/bad.yaml": circleSeed}), args: []string{"plan", "--control-plane", "."}, code: exitProblems, want: "Seed web: "},
		"a control plane that is not there":         {args: []string{"run", "--once", "--control-plane", "nowhere", "--cache", "cache"}, code: exitFailed, want: "nowhere"},
		"a control plane by SSH":                    {args: []string{"run", "--once", "--control-plane", "ssh://git@git.example.com/a/b", "--cache", "cache"}, code: exitFailed, want: "SSH needs a set of credentials with the files identity and known_hosts"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			p := &workspace{t: t, dir: t.TempDir()}
			p.write(".", c.files)
			t.Chdir(p.dir)
			r := call(t.Context(), c.stdin, c.args...)
			if r.code != c.code {
				t.Errorf("it ends with %d, and not with %d:\n%s", r.code, c.code, r.all())
			}
			mustContain(t, r.all(), c.want)
		})
	}
}

func TestRunOnceEndsWith3WhenSomethingNeedsAPerson(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		code  int
		want  string
	}{
		"all is well":                                   {map[string]string{"seeds/web.yaml": webSeed}, exitOK, "waits to be merged (web/east/00)"},
		"a seed is stalled":                             {map[string]string{"seeds/web.yaml": webSeed, "seeds/bad.yaml": circleSeed}, exitProblems, "the objects wait for each other in a circle"},
		"a repository is not there":                     {map[string]string{"seeds/web.yaml": webSeed, "more.yaml": document("GitOpsRepo", "gone", "spec: {url: ../gone.git}")}, exitProblems, `GitOpsRepo "gone"`},
		"credentials are named and none given":          {map[string]string{"seeds/web.yaml": webSeed, "gitops-repo.yaml": document("GitOpsRepo", "fleet", "spec: {url: ../fleet.git, credentials: acme}")}, exitProblems, `it names the credentials "acme"`},
		"a repository is reached by SSH":                {map[string]string{"seeds/web.yaml": webSeed, "gitops-repo.yaml": document("GitOpsRepo", "fleet", "spec: {url: 'git@git.example.com:a/b'}")}, exitProblems, "SSH needs a set of credentials"},
		"a document of the inventory is not a document": {map[string]string{"seeds/web.yaml": webSeed, "more.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: [}"}, exitProblems, "more.yaml:2"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := newWorkspace(t, c.files)
			r := p.furrow("run", "--once")
			if r.code != c.code {
				t.Errorf("it ends with %d, and not with %d:\n%s", r.code, c.code, r.all())
			}
			mustContain(t, r.all(), c.want)
		})
	}
}

func TestEveryOutputDecodesAndYAMLSaysWhatJSONSays(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	for _, words := range []string{"plan", "lint", "status", "status web", "explain Deployment/web/web", "pr list", "pr show web/east/00"} {
		t.Run(words, func(t *testing.T) {
			args := strings.Fields(words)
			var fromYAML, fromJSON any
			if err := yaml.Unmarshal([]byte(p.must(append(args, "-o", "yaml")...)), &fromYAML); err != nil {
				t.Errorf("yaml: %v", err)
			}
			if err := json.Unmarshal([]byte(p.must(append(args, "-o", "json")...)), &fromJSON); err != nil {
				t.Errorf("json: %v", err)
			}
			if diff := cmp.Diff(fromYAML, fromJSON); diff != "" || fromYAML == nil {
				t.Errorf("the same in both (-yaml +json):\n%s", diff)
			}
		})
	}
}
