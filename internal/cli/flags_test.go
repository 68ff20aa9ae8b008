package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestEveryFlagIsCheckedWhereItIsParsed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const label, noDirectory, noFile = "must be a DNS label", "the directory does not exist", "must be a directory, not a file"
	cases := []struct {
		command, flag string
		values        []string
		want          string
	}{
		{"run", "interval", []string{"-5s", "0", "0s", "1ns", "25h", "300000h"}, "to 24h"},
		{"run", "interval", []string{"", "abc", "10"}, "must be a number with a unit, such as 30s or 5m"},
		{"run", "deletion-guard", []string{"-5", "101", "200", "", "many", "1.5"}, "must be a number from 0 to 100"},
		{"run", "kubeconfigs", []string{"/no/such"}, noDirectory},
		{"run", "kubeconfigs", []string{file}, noFile},
		{"run", "id", []string{"a b", "a/b", "..", "a..b", "x.lock", "-a"}, "must be at most 100 letters, digits"},
		{"retry", "tier", []string{"", "edge-1", "edge-1/x", "/01", "edge-1/-1", "edge-1/00,west"}, "write <cluster>/<number>"},
		{"run", "environment", []string{"", "a b/c", ".hidden"}, "must be at most 100 letters, digits"},
		{"status", "credentials", []string{"/no/such"}, noDirectory},
		{"status", "credentials", []string{file}, noFile},
		{"status", "cache", []string{file}, noFile},
		{"status", "branch", []string{"", "a b", "a..b", "-b"}, "branch name"},
		{"status", "path", []string{"/abs", "../up", "a/../.."}, "must be a path from the repository's root"},
		{"status", "output", []string{"", "xml"}, "must be table, wide, yaml or json"},
		{"plan", "namespace", []string{"A", "a.b", "a_b"}, label},
		{"plan", "seed", []string{"My App"}, label},
		{"plan", "out", []string{file}, noFile},
		{"lint", "namespace", []string{"-"}, label},
		{"lint", "seed", []string{"My App"}, label},
		{"explain", "seed", []string{"My App"}, label},
		{"demo", "dir", []string{file}, noFile},
		{"controller", "interval", []string{"-5s", "0", "25h"}, "to 24h"},
		{"controller", "concurrency", []string{"0", "-1", "two"}, "must be a number from 1 to"},
		{"controller", "deletion-guard", []string{"-5", "200"}, "must be a number from 0 to 100"},
		{"controller", "namespace", []string{"a,b"}, label},
		{"controller", "cluster", []string{"Edge_1"}, label},
		{"controller", "leader-election-namespace", []string{"Kube"}, label},
		{"controller", "metrics-bind-address", []string{"", "8080", ":http", ":70000", "localhost"}, "must be host:port"},
		{"controller", "health-probe-bind-address", []string{"8081", ":-1"}, "must be host:port"},
		{"controller", "kubeconfig", []string{"/no/such"}, "the file does not exist"},
		{"controller", "kubeconfig", []string{dir}, "must be a file, not a directory"},
		{"controller", "log-level", []string{"", "loud"}, "must be debug, info, warn or error"},
		{"adopt", "from", []string{"platform", "a b/prod", "a/b/c"}, "must be a control-plane id and an environment"},
		{"adopt", "origin", []string{"sha256:3f", "main"}, "must be hexadecimal digits"},
		{"controller", "log-format", []string{"", "xml"}, "must be json or text"},
	}
	for _, c := range cases {
		for _, value := range c.values {
			r := call(t.Context(), "", c.command, "--"+c.flag+"="+value)
			if r.code != exitUsage || r.stdout != "" {
				t.Errorf("%s --%s=%q ends with %d: %s", c.command, c.flag, value, r.code, r.all())
			}
			mustContain(t, r.stderr, "--"+c.flag, c.want)
		}
	}
}

func TestFlagsOfKubectlFurrowAreCheckedWhereTheyAreParsed(t *testing.T) {
	cases := map[string]string{
		"status --namespace=A_B":           "must be a DNS label",
		"status --controller-namespace=A":  "must be a DNS label",
		"status --request-timeout=soon":    "must be a duration, such as 10s, or 0 for no limit",
		"status --request-timeout=-1s":     "must be a duration",
		"retry web --timeout=0":            "must be from 1ms to 24h",
		"retry web --timeout=-1s":          "must be from 1ms to 24h",
		"plan web --ref=a..b":              "two dots in a row",
		"explain web --seed=A_B":           "must be a DNS label",
		"plan web --credentials=/no/such":  "the directory does not exist",
		"plan web --environment=prod/east": "must be at most 100 letters, digits",
	}
	a := newAPI(t)
	for command, want := range cases {
		r := a.call(strings.Fields(command)...)
		if r.code != exitUsage {
			t.Errorf("%s ends with %d: %s", command, r.code, r.all())
		}
		mustContain(t, r.stderr, "invalid argument", want)
	}
}

// Every flag but those of cobra is a switch, or has a check of its own.
func TestEveryFlagHasACheck(t *testing.T) {
	unchecked := map[string]string{
		"file":    "the file is opened",
		"context": "the kubeconfig has it or not",
		"reason":  "any text",
		"by":      "any text",
	}
	for _, cmd := range everyCommand() {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, checked := f.Value.(*checkedFlag)
			if !checked && f.Value.Type() != "bool" && unchecked[f.Name] == "" {
				t.Errorf("%s --%s is a %s without a check", cmd.CommandPath(), f.Name, f.Value.Type())
			}
		})
	}
}

func TestEveryRequestCanBeSigned(t *testing.T) {
	for _, name := range []string{"retry", "confirm", "abandon", "rollout pause", "rollout resume", "rollout skip"} {
		cmd, _, err := newRoot().Find(strings.Fields(name))
		if err != nil || cmd.Flags().Lookup("sign-with") == nil {
			t.Errorf("furrow %s has no --sign-with: %v", name, err)
		}
	}
}

func TestAVariableOfTheEnvironmentIsCheckedLikeItsFlag(t *testing.T) {
	for variable, command := range map[string]string{
		"FURROW_CREDENTIALS": "status",
		"FURROW_KUBECONFIGS": "run",
		"FURROW_NAMESPACE":   "controller",
		"FURROW_CLUSTER":     "controller",
	} {
		t.Setenv(variable, "/no/such")
		r := call(t.Context(), "", command)
		if r.code != exitUsage {
			t.Errorf("%s with %s ends with %d: %s", command, variable, r.code, r.all())
		}
		mustContain(t, r.stderr, `invalid value "/no/such" of `+variable)
		t.Setenv(variable, "")
	}
}

func TestFlagsKeepWhatTheyParse(t *testing.T) {
	var text string
	var number int
	var duration time.Duration
	cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }}
	cmd.Flags().Var(textFlag(&text, "a", dnsLabel), "text", "")
	cmd.Flags().Var(numberFlag(&number, 1, 0, 9), "number", "")
	cmd.Flags().Var(durationFlag(&duration, time.Hour, 0, 2*time.Hour), "duration", "")
	type values struct {
		Text     string
		Number   int
		Duration time.Duration
	}
	if diff := cmp.Diff(values{"a", 1, time.Hour}, values{text, number, duration}); diff != "" {
		t.Errorf("the defaults (-want +got):\n%s", diff)
	}
	cmd.SetArgs([]string{"--text=b", "--number=9", "--duration=90m"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(values{"b", 9, 90 * time.Minute}, values{text, number, duration}); diff != "" {
		t.Errorf("the values (-want +got):\n%s", diff)
	}
	for d, want := range map[time.Duration]string{time.Hour: "1h", 90 * time.Minute: "1h30m", time.Minute: "1m", 10 * time.Second: "10s", 0: "0s", 10 * time.Minute: "10m"} {
		if got := shortDuration(d); got != want {
			t.Errorf("%v is shown as %q", d, got)
		}
	}
}

func TestTheVersionIsAFlagToo(t *testing.T) {
	want := call(t.Context(), "", "version").stdout
	if r := call(t.Context(), "", "--version"); r.code != exitOK || r.stdout != want {
		t.Errorf("it ends with %d: %q, and not %q", r.code, r.all(), want)
	}
}
