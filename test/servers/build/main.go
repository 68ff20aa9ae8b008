// Command build builds the servers that tests run on, those that are named or all: go run
// ./test/servers/build [name ...]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/furrow-dev/furrow/test/servers/store"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "servers: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	servers, err := store.Open()
	if err != nil {
		return err
	}
	var names []store.Name
	for _, arg := range args {
		names = append(names, store.Name(arg))
	}
	return servers.Build(ctx, os.Stderr, names...)
}
