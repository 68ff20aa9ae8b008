//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/furrow-dev/furrow/test/program"
)

// process runs furrow as a process of its own, and returns its output and the most memory that it had, in
// MiB.
func (p *workspace) process(furrow string, args ...string) (output string, peak int, err error) {
	cmd := exec.CommandContext(p.t.Context(), furrow, args...)
	cmd.Dir = p.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	peak, err = program.Run(cmd)
	return out.String(), peak, err
}

func built(t *testing.T) string {
	t.Helper()
	furrow, err := program.Furrow(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return furrow
}

func TestSeveralProcessesOpenOneEmptyCacheAtOnce(t *testing.T) {
	t.Parallel()
	furrow, p := built(t), newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	if output, _, err := p.process(furrow, "run", "--once", "--control-plane", p.at("control-plane"), "--cache", p.at("first")); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for round := range 2 {
		cache := p.at(fmt.Sprintf("empty-%d", round))
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if output, _, err := p.process(furrow, "status", "--control-plane", p.at("control-plane"), "--cache", cache); err != nil || !strings.Contains(output, "web") {
					t.Errorf("%v\n%s", err, output)
				}
			})
		}
		all.Wait()
	}
}

// Somebody's 40 MB below a root hold that root and do not fill the memory of the process: docs/scale.md has
// the numbers.
func TestMemoryIsBoundedWhateverLiesBelowARoot(t *testing.T) {
	const all = 40 << 20
	furrow := built(t)
	const most = 300
	for sentence, size := range map[string]int{"files of a megabyte": 1 << 20, "one file": all} {
		t.Run(sentence, func(t *testing.T) {
			p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
			files := map[string]string{}
			for i := range all / size {
				files[fmt.Sprintf("clusters/east/config-%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: default}\ndata:\n  text: |\n%s", i, strings.Repeat("    some text of a line\n", size/24))
			}
			p.write("work", files)
			p.git("work", "add", ".")
			p.git("work", "commit", "--quiet", "--message=Fill it")
			p.git("work", "push", "--quiet", "origin", "main")
			output, peak, err := p.process(furrow, "run", "--once", "--control-plane", p.at("control-plane"), "--cache", p.at("cache"))
			t.Logf("%s: at most %d MiB", sentence, peak)
			if peak == 0 || peak > most {
				t.Errorf("%d MiB, want at most %d\n%v %s", peak, most, err, output)
			}
			if !strings.Contains(output, "west tier 00") {
				t.Errorf("the other cluster is not planted:\n%s", output)
			}
		})
	}
}
