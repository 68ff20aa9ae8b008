package law

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var table = flag.String("table", "", "page whose table of orders is written, as in ../../docs/law.md")

// peers are the other tools, as test/peers names them.
var peers = []string{"cli-utils", "kapp", "Helm", "Argo CD"}

// TestOrdersOfOtherToolsAreCompared applies each stack of one cluster in the order of other tools,
// and writes how many objects are rejected, and in how many batches something waits for a later one.
func TestOrdersOfOtherToolsAreCompared(t *testing.T) {
	if *table == "" {
		t.Skip("writes a table: make law")
	}
	b, furrow := need(t)
	program := filepath.Join(t.TempDir(), "peers")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../peers", "-trimpath", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the orders of other tools: %v\n%s", err, output)
	}
	authority, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{dir: workDir(t), authority: authority}
	defer func() {
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	}()
	rows := []string{
		"| planned together | objects | tiers | Furrow | " + strings.Join(peers, " | ") + " | stuck: Furrow | " + strings.Join(peers, " | ") + " |",
		"|---|--:|--:|" + strings.Repeat("--:|", 2*len(peers)+2),
	}
	var total tally
	add := func(row tally) {
		total.add(row)
		rows = append(rows, row.String())
	}
	one := func(s stack) tally {
		p, err := b.plan(t.Context(), furrow, s, t.TempDir())
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if len(p.clusters()) != 1 {
			return tally{}
		}
		row := compare(t, start(t, w, p), program)
		var names []string
		for _, pack := range s.packs {
			names = append(names, pack.name)
		}
		row.name, row.tiers = strings.Join(names, ", "), fmt.Sprint(len(p.levels()))
		t.Log(row)
		return row
	}
	for _, s := range stacks {
		if row := one(s); row.objects > 0 {
			add(row)
		}
	}
	var minimal tally
	for _, in := range inputs {
		// The other tools know hooks.
		if !strings.HasPrefix(in.name, "hook-") {
			minimal.add(one(in.stack))
		}
	}
	minimal.name = fmt.Sprintf("%d minimal inputs", minimal.stacks)
	add(minimal)
	total.name = "all"
	if err := writeTable(*table, append(rows, total.String())); err != nil {
		t.Fatal(err)
	}
}

// tally is a row of the table: how many objects are rejected, and in how many batches something is stuck, with the
// tiers of the plan and in the order of each peer.
type tally struct {
	name            string
	objects, stacks int
	tiers           string
	rejected, stuck []int
}

func (t *tally) add(other tally) {
	if other.objects == 0 {
		return
	}
	t.objects, t.stacks = t.objects+other.objects, t.stacks+1
	if t.rejected == nil {
		t.rejected, t.stuck = make([]int, len(peers)+1), make([]int, len(peers)+1)
	}
	for i := range t.rejected {
		t.rejected[i] += other.rejected[i]
		t.stuck[i] += other.stuck[i]
	}
}

func (t tally) String() string {
	row := fmt.Sprintf("| %s | %d | %s |", t.name, t.objects, t.tiers)
	for _, n := range slices.Concat(t.rejected, t.stuck) {
		row += fmt.Sprintf(" %d |", n)
	}
	return row
}

// compare counts what is rejected and stuck, on clusters that are empty.
func compare(t *testing.T, r *run, program string) tally {
	t.Helper()
	if err := r.random(t.Context(), rand.New(rand.NewPCG(*seed, 1)), 1); err != nil {
		t.Fatal(err)
	}
	row := tally{objects: len(r.plan.objects)}
	count := func() {
		row.rejected, row.stuck = append(row.rejected, r.rejected()), append(row.stuck, r.stuckBatches())
	}
	count()
	inOrder := slices.Clone(r.plan.objects)
	slices.SortStableFunc(inOrder, func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.seed, b.seed), cmp.Compare(a.order, b.order))
	})
	var bodies []*unstructured.Unstructured
	for _, o := range inOrder {
		bodies = append(bodies, o.body)
	}
	input, err := json.Marshal(bodies)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("order objects as other tools: %v", err)
	}
	var orders []struct {
		Tool    string
		Batches [][]int
	}
	if err := json.Unmarshal(output, &orders); err != nil {
		t.Fatal(err)
	}
	for i, order := range orders {
		if order.Tool != peers[i] {
			t.Fatalf("the orders are of %s, want %s", order.Tool, peers[i])
		}
		if err := r.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, batch := range order.Batches {
			var objects []*object
			for _, i := range batch {
				objects = append(objects, inOrder[i])
			}
			if err := r.declare(t.Context(), objects); err != nil {
				t.Fatal(err)
			}
			if err := r.finish(t.Context(), objects); err != nil {
				t.Fatal(err)
			}
		}
		count()
	}
	return row
}

// rejected counts the objects that an API server refused.
func (r *run) rejected() int {
	refused := map[*object]bool{}
	for _, rejected := range r.rejections {
		refused[rejected.object] = true
	}
	return len(refused)
}

// writeTable replaces the table below its mark in a page.
func writeTable(path string, rows []string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const mark = "<!-- orders -->\n"
	before, after, found := strings.Cut(string(content), mark)
	if !found {
		return fmt.Errorf("%s has no line %s", path, strings.TrimSpace(mark))
	}
	for strings.HasPrefix(after, "|") {
		_, after, _ = strings.Cut(after, "\n")
	}
	return os.WriteFile(path, []byte(before+mark+strings.Join(rows, "\n")+"\n"+after), 0o644)
}
