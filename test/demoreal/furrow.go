package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/furrow-dev/furrow/test/servers"
)

// interval is how often furrow run observes the repositories.
const interval = "2s"

// equip lays out what furrow and people need: kubeconfigs, programs, and the file env.
func (d *demonstration) equip(context.Context) error {
	for _, cluster := range []*servers.Cluster{d.mgmt, d.siteA} {
		if err := d.folder.write(cluster.KubeConfig, "kubeconfigs", cluster.Name+".yaml"); err != nil {
			return err
		}
	}
	if err := d.writeKubeConfig(nil); err != nil {
		return err
	}
	for name, program := range map[string]string{
		"furrow": d.program, "kubectl": d.bin.Program(servers.Kubernetes, "kubectl"),
	} {
		if err := d.link(program, name); err != nil {
			return err
		}
	}
	var env strings.Builder
	for _, variable := range append(d.furrowEnv("you"), "KUBECONFIG="+d.folder.path("kubeconfig")) {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(&env, "export %s=%s\n", name, quote(value))
	}
	fmt.Fprintf(&env, "export PATH=%s:\"$PATH\"\n", quote(d.folder.path("bin")))
	return d.folder.write([]byte(env.String()), "env")
}

// link makes a program found in the folder's bin.
func (d *demonstration) link(program, name string) error {
	at := d.folder.path("bin", name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return fmt.Errorf("make a folder of the demo: %w", err)
	}
	if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("link %s: %w", name, err)
	}
	if err := os.Symlink(program, at); err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	return nil
}

// quote quotes a word for a shell.
func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// furrowEnv returns what furrow reads from its environment, with the credentials of a user.
func (d *demonstration) furrowEnv(user string) []string {
	return []string{
		"FURROW_CONTROL_PLANE=" + d.people.url(controlPlaneRepo),
		"FURROW_CREDENTIALS=" + d.folder.path("credentials", user),
		"FURROW_KUBECONFIGS=" + d.folder.path("kubeconfigs"),
	}
}

// furrowCommand returns a command of furrow with the credentials of a user.
func (d *demonstration) furrowCommand(ctx context.Context, user string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.program, args...)
	cmd.Dir = d.folder.dir
	cmd.Env = append(d.furrowEnv(user), "PATH="+os.Getenv("PATH"), "HOME="+d.folder.dir, "TMPDIR="+os.TempDir())
	return cmd
}

// startFurrow starts furrow run, and has the demo fail when it ends by itself.
func (d *demonstration) startFurrow(ctx context.Context) error {
	d.screen.restart()
	// It is interrupted at the end, and not killed with a context.
	cmd := d.furrowCommand(context.Background(), botName, "run", "--interval", interval, "--cache", d.folder.path("mirrors"))
	var err error
	if d.furrow, err = startProcess(cmd, d.folder.path("furrow.log"), d.screen.lines()); err != nil {
		return err
	}
	d.watches.Go(func() {
		select {
		case <-ctx.Done():
		case <-d.furrow.done:
			ended := cmp.Or(d.furrow.err, errors.New("exit status 0"))
			d.fail(fmt.Errorf("furrow run ended by itself: %w; it said last:\n%s", ended, d.furrow.lastLines()))
		}
	})
	return nil
}

// seedStatus is what furrow status says of a seed, as far as it matters here.
type seedStatus struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Tiers []struct {
		State string `json:"state"`
	} `json:"tiers"`
}

// released says why not everything is Released.
func (d *demonstration) released(ctx context.Context) error {
	output, err := d.furrowCommand(ctx, personName, "status", "-o", "json").Output()
	if err != nil {
		return fmt.Errorf("furrow status: %w", err)
	}
	var report struct {
		Seeds []seedStatus `json:"seeds"`
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return fmt.Errorf("understand furrow status: %w", err)
	}
	if len(report.Seeds) == 0 {
		return errors.New("furrow status has no seeds")
	}
	for _, seed := range report.Seeds {
		if seed.State != "Released" || len(seed.Tiers) == 0 {
			return fmt.Errorf("seed %s is %s", seed.Name, seed.State)
		}
	}
	return nil
}
