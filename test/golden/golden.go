// Package golden keeps the texts that a package's tests produce in one file,
// testdata/messages.golden, so a better sentence costs one line there, and a reviewer reads
// the sentences as people will. Tests compare reasons and fields (Fields), which programs rely on.
//
// The file has a line for each test, below it one for each case, indented by a tab, and below that
// the lines of its text, indented by two. With -update, a test replaces what the file has of it,
// and nothing of others.
package golden

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tests give into their files in testdata; only commit what you understand and want")

// Update reports whether to write the files in testdata instead of comparing them.
func Update() bool { return *update }

const (
	file   = "testdata/messages.golden"
	header = "# The texts that the tests of this package produce, by test and case. Written by: go test . -update\n"
)

// Texts are those of one test, by case. They are compared when it ends. Add may be called by
// subtests that run at once.
type Texts struct {
	t    testing.TB
	mu   sync.Mutex
	text map[string]string
}

// File compares what a test has made with a file below testdata, which it writes with -update.
func File(t testing.TB, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if Update() {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// Of gathers the texts of a test and its subtests.
func Of(t testing.TB) *Texts {
	texts := &Texts{t: t, text: map[string]string{}}
	t.Cleanup(texts.compare)
	return texts
}

// Add notes the text of one case; none where it is empty.
func (x *Texts) Add(name, text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if text != "" {
		x.text[name] = text
	}
}

// compare compares the texts with those in the file, or replaces them there. A test that failed
// replaces nothing. That texts of the file are missing is an error only where all tests run: with
// -run, some cases do not.
func (x *Texts) compare() {
	x.t.Helper()
	sections, err := read()
	if err != nil {
		x.t.Fatal(err)
	}
	if *update {
		if !x.t.Failed() {
			sections[x.t.Name()] = x.text
			err = write(sections)
		}
		if err != nil {
			x.t.Fatal(err)
		}
		return
	}
	want := sections[x.t.Name()]
	for _, name := range slices.Sorted(maps.Keys(x.text)) {
		if x.text[name] != want[name] {
			x.t.Errorf("%s: the text differs from that in %s; if it is better, run with -update\n got %s\nwant %s", name, file, x.text[name], want[name])
		}
	}
	if flag.Lookup("test.run").Value.String() == "" && len(want) > len(x.text) {
		x.t.Errorf("%s has %d texts of this test, and it produced %d; run with -update", file, len(want), len(x.text))
	}
}

// read returns the texts by test and case; none without a file.
func read() (map[string]map[string]string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	sections := map[string]map[string]string{}
	test, name := "", ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t\t"):
			text := sections[test]
			if had, more := text[name]; more {
				text[name] = had + "\n" + line[2:]
			} else {
				text[name] = line[2:]
			}
		case strings.HasPrefix(line, "\t"):
			name = line[1:]
		default:
			test, sections[line] = line, map[string]string{}
		}
	}
	return sections, err
}

// write writes the file, sorted, so two branches that add texts rarely conflict.
func write(sections map[string]map[string]string) error {
	var b strings.Builder
	b.WriteString(header)
	for _, test := range slices.Sorted(maps.Keys(sections)) {
		if len(sections[test]) == 0 {
			continue
		}
		b.WriteString("\n" + test + "\n")
		for _, name := range slices.Sorted(maps.Keys(sections[test])) {
			b.WriteString("\t" + name + "\n\t\t" + strings.ReplaceAll(sections[test][name], "\n", "\n\t\t") + "\n")
		}
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// Fields returns a problem by its reason and fields, without its texts: `seeds/a.yaml:1: Pod "a":
// MissingField field=kind`. It takes any value with the JSON of one.
func Fields(problem any) string {
	type source struct {
		File string
		Line int
	}
	var p struct {
		Reason, Object, Field, Seed, Cluster, Repo, Path string
		Source, Other                                    source
	}
	data, err := json.Marshal(problem)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		panic(err)
	}
	at := func(s source) string {
		if s.Line == 0 {
			return s.File
		}
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	var b strings.Builder
	for _, part := range []string{at(p.Source), p.Object} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(p.Reason)
	for _, f := range [][2]string{{"field", p.Field}, {"other", at(p.Other)}, {"seed", p.Seed}, {"cluster", p.Cluster}, {"repo", p.Repo}, {"path", p.Path}} {
		if f[1] != "" {
			b.WriteString(" " + f[0] + "=" + f[1])
		}
	}
	return b.String()
}
