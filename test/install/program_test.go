package install

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/test/program"
)

const root = "../.."

// starters are the files that start other programs, and why the controller does not need those.
var starters = map[string]string{
	"internal/cli/pr.go":                  "asks git for the user's name; the image's entry point is not for people",
	"internal/controlplane/simulation.go": "furrow run --simulate",
	"internal/demo/demo.go":               "furrow demo",
	"internal/git/local.go":               "reads the settings of repositories on the local disk; a resource can name none",
	"internal/render/kustomize/worker.go": "starts furrow itself again, which the image has",
	"internal/plugin/executable.go":       "starts furrow itself again, which starts what the operator of Furrow puts into --plugins",
	"internal/plugin/module.go":           "starts furrow itself again, which runs WASM",
	"internal/plugin/supervise_linux.go":  "starts what the operator of Furrow puts into --plugins",
	"internal/git/remote.go":              "serves repositories on the local disk; a resource can name none",
}

func TestTheControllerStartsNoOtherPrograms(t *testing.T) {
	var got []string
	for _, dir := range []string{"api", "controllers", "internal", "templates"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(at string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(at) != ".go" || strings.HasSuffix(at, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, imported := range file.Imports {
				if imported.Path.Value == `"os/exec"` {
					got = append(got, filepath.ToSlash(must1(t)(filepath.Rel(root, at))))
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, file := range got {
		if starters[file] == "" {
			t.Errorf("%s starts other programs, but the image has none", file)
		}
	}
}

func TestTheDeploymentsArgumentsAreFlags(t *testing.T) {
	binary := must1(t)(program.Furrow(t.Context(), t.TempDir()))
	help := string(must(t)(run(t, binary, "controller", "--help")))
	for name, documents := range map[string][]byte{
		"config/default":            kustomize(t, "../../config/default"),
		"config/namespaced":         kustomize(t, "../../config/namespaced"),
		"the chart":                 must(t)(render(t)),
		"the chart with everything": must(t)(render(t, "--values", everything)),
	} {
		args := deploymentOf(t, documents).Spec.Template.Spec.Containers[0].Args
		if args[0] != "controller" {
			t.Errorf("%s runs furrow %s", name, args[0])
		}
		for _, arg := range args[1:] {
			flag, _, _ := strings.Cut(arg, "=")
			if !regexp.MustCompile(`(?m)^ +(-\w, )?` + regexp.QuoteMeta(flag) + `[ ,]`).MatchString(help) {
				t.Errorf("%s: furrow controller has no flag %s", name, flag)
			}
		}
	}
}

func must1(t *testing.T) func(string, error) string {
	return func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}
