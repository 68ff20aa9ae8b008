// Furrow is a GitOps scheduler for fleets of Kubernetes clusters.
package main

import (
	"os"

	"github.com/furrow-dev/furrow/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[0], os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
