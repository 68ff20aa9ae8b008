package install

import (
	"debug/elf"
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// instruction is one of a Dockerfile.
type instruction struct {
	word, rest string
	stage      int
}

// dockerfile reads the instructions, with lines that go on joined.
func dockerfile(t *testing.T) []instruction {
	t.Helper()
	text := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(read(t, root+"/Dockerfile")), "")
	var all []instruction
	stage := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "FROM" {
			stage++
		}
		all = append(all, instruction{word, rest, stage})
	}
	return all
}

// of gives what follows a word, in the last stage or in all.
func of(all []instruction, word string, lastStage bool) []string {
	var found []string
	for _, i := range all {
		if i.word == word && (!lastStage || i.stage == all[len(all)-1].stage) {
			found = append(found, i.rest)
		}
	}
	return found
}

func TestTheImageIsPinnedAndNotRoot(t *testing.T) {
	all := dockerfile(t)
	goVersion := ""
	for _, from := range of(all, "FROM", false) {
		image := strings.Fields(regexp.MustCompile(`--\S+ `).ReplaceAllString(from, ""))[0]
		if image == "scratch" {
			continue
		}
		pinned := regexp.MustCompile(`^golang:(\d+\.\d+\.\d+)-\w+$`).FindStringSubmatch(image)
		if pinned == nil {
			t.Errorf("%s is not pinned by a version", image)
			continue
		}
		goVersion = pinned[1]
	}
	needed := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(read(t, root+"/go.mod")))[1]
	if version.Compare("go"+goVersion, "go"+needed) < 0 {
		t.Errorf("the image is built by Go %s, and go.mod needs %s", goVersion, needed)
	}

	users := of(all, "USER", true)
	if len(users) != 1 {
		t.Fatalf("the last stage sets these users: %q", users)
	}
	for _, id := range strings.Split(users[0], ":") {
		// The API server cannot tell whether a name is root.
		if number, err := strconv.Atoi(id); err != nil || number == 0 {
			t.Errorf("%s is root, or no number", id)
		}
	}
	if deployment := string(read(t, root+"/config/manager/deployment.yaml")); !strings.Contains(deployment, "runAsUser: "+strings.Split(users[0], ":")[0]+"\n") {
		t.Errorf("the Deployment runs as another user than %s", users[0])
	}
	if runs := of(all, "RUN", true); len(runs) > 0 {
		t.Errorf("there is nothing to run in the last stage: %q", runs)
	}
	if diff := cmp.Diff([]string{`["/furrow"]`}, of(all, "ENTRYPOINT", true)); diff != "" {
		t.Errorf("entry point (-want +got):\n%s", diff)
	}
	copies := strings.Join(of(all, "COPY", true), "\n")
	for _, want := range []string{"/etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt", "/out/furrow /furrow"} {
		if !strings.Contains(copies, want) {
			t.Errorf("the last stage does not copy %s", want)
		}
	}
	for _, label := range []string{"title", "source", "licenses", "version"} {
		if !strings.Contains(strings.Join(of(all, "LABEL", true), " "), "org.opencontainers.image."+label+"=") {
			t.Errorf("there is no label %s", label)
		}
	}
}

// buildContext lays out what the build of the image copies, without what .dockerignore leaves out.
func buildContext(t *testing.T, all []instruction) string {
	t.Helper()
	var sent, left []string
	for line := range strings.Lines(string(read(t, root+"/.dockerignore"))) {
		line = strings.TrimSpace(line)
		if name, again := strings.CutPrefix(line, "!"); again {
			sent = append(sent, name)
		} else if pattern, everywhere := strings.CutPrefix(line, "**/"); everywhere {
			left = append(left, pattern)
		} else if line != "*" && line != "" && !strings.HasPrefix(line, "#") {
			t.Fatalf(".dockerignore: this test does not understand %q", line)
		}
	}
	dir := t.TempDir()
	for _, copied := range of(all, "COPY", false) {
		words := strings.Fields(copied)
		if strings.HasPrefix(words[0], "--from=") {
			continue
		}
		for _, source := range words[:len(words)-1] {
			if !slices.Contains(sent, path.Clean(source)) {
				t.Errorf(".dockerignore leaves %s out", source)
			}
			err := filepath.WalkDir(filepath.Join(root, source), func(at string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				for _, pattern := range left {
					if matches, _ := path.Match(pattern, entry.Name()); matches && entry.IsDir() {
						return fs.SkipDir
					} else if matches {
						return nil
					}
				}
				to := filepath.Join(dir, must1(t)(filepath.Rel(root, at)))
				if entry.IsDir() {
					return os.MkdirAll(to, 0o755)
				}
				return os.WriteFile(to, read(t, at), 0o644)
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
	return dir
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

func TestTheImagesBuildMakesAStaticBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program as the image does: not in a short run")
	}
	all := dockerfile(t)
	builds := slices.DeleteFunc(of(all, "RUN", false), func(run string) bool { return !strings.Contains(run, "go build") })
	if len(builds) != 1 {
		t.Fatalf("these run go build: %q", builds)
	}
	for _, flag := range []string{"CGO_ENABLED=0", "-trimpath", "-buildvcs=false", "-X github.com/furrow-dev/furrow/internal/cli.version=$VERSION"} {
		if !strings.Contains(builds[0], flag) {
			t.Errorf("the image is built without %s", flag)
		}
	}
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", strings.ReplaceAll(builds[0], "/out/", out+"/"))
	cmd.Dir = buildContext(t, all)
	cmd.Env = append(os.Environ(), "VERSION=v9.8.7", "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH, "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", builds[0], err, output)
	}
	if printed := must(t)(run(t, filepath.Join(out, "furrow"), "version")); !strings.Contains(string(printed), "v9.8.7") {
		t.Errorf("it says that it is %s", printed)
	}
	if runtime.GOOS != "linux" {
		return
	}
	binary, err := elf.Open(filepath.Join(out, "furrow"))
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it needs libraries: %q, %v", libraries, err)
	}
}

// starters are the files that start other programs, and why the controller comes without them.
var starters = map[string]string{
	"internal/cli/pr.go":     "asks git for the user's name; the image's entry point is not for people",
	"internal/demo/demo.go":  "furrow demo",
	"internal/git/remote.go": "serves repositories on the local disk; a resource can name none",
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
			t.Errorf("%s starts other programs, and the image has none", file)
		}
	}
}

func TestTheDeploymentsArgumentsAreFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: not in a short run")
	}
	binary := filepath.Join(t.TempDir(), "furrow")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, ".")
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
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
