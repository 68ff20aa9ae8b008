// Command cliutils measures how long cli-utils takes to order objects: its graph of dependencies and
// the sets that are applied one after another. It reads manifests from standard input, and prints
// the processor time of each run, and how many sets there are.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cli-utils/pkg/object"
	"sigs.k8s.io/cli-utils/pkg/object/graph"
)

const (
	// mostRuns and enough say when it has been measured often enough: whichever comes first.
	mostRuns = 9
	enough   = 5 * time.Second
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cliutils:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	objects, err := read(in)
	if err != nil {
		return err
	}
	var result struct {
		Runs []time.Duration `json:"runs"`
		Sets int             `json:"sets"`
	}
	for total := time.Duration(0); len(result.Runs) < mostRuns && total < enough; {
		before := processor()
		sets, err := graph.SortObjs(objects)
		if err != nil {
			return err
		}
		took := processor() - before
		total += took
		result.Runs, result.Sets = append(result.Runs, took), len(sets)
	}
	return json.NewEncoder(out).Encode(result)
}

func read(in io.Reader) (object.UnstructuredSet, error) {
	var objects object.UnstructuredSet
	decoder := yaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
}

// processor returns the processor time that the process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
