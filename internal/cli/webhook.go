package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/webhook"
)

// webhookFlags say where forges send events, and how these are signed.
type webhookFlags struct{ address, secret string }

func (f *webhookFlags) add(cmd *cobra.Command, address string) {
	flags := cmd.Flags()
	flags.Var(textFlag(&f.address, "0", bindAddress), address, "address that webhooks of forges are received on, at "+webhook.Path+", as in :9000; 0 for not at all. Needs --webhook-secret-file")
	addEnvironmentText(flags, &f.secret, "webhook-secret-file", "FURROW_WEBHOOK_SECRET_FILE", "file with the secret that the forges' webhooks have; or set FURROW_WEBHOOK_SECRET_FILE", existingFile)
}

// open returns a handler and its hints; both are nil if no address is given.
func (f *webhookFlags) open(flag string) (*webhook.Handler, webhook.Hints, error) {
	if f.address == "0" || f.address == "" {
		return nil, nil, nil
	}
	if f.secret == "" {
		return nil, nil, usageError{fmt.Errorf("--%s needs --webhook-secret-file: events without a signature are refused", flag)}
	}
	secret, err := os.ReadFile(f.secret)
	if err != nil {
		return nil, nil, fmt.Errorf("--webhook-secret-file: %w", err)
	}
	hints := webhook.NewHints()
	handler, err := webhook.New(secret, hints)
	if err != nil {
		return nil, nil, fmt.Errorf("the file %s: %w", f.secret, err)
	}
	return handler, hints, nil
}

// listen receives webhooks in the background, and returns the address when it does, or why it
// cannot. lost is called with the error if that ends before the context does.
func (f *webhookFlags) listen(ctx context.Context, h *webhook.Handler, lost func(error)) (net.Addr, error) {
	ready, failed := make(chan net.Addr, 1), make(chan error, 1)
	go func() { failed <- h.Serve(ctx, f.address, func(at net.Addr) { ready <- at }) }()
	select {
	case at := <-ready:
		go func() {
			if err := <-failed; err != nil {
				lost(fmt.Errorf("webhooks are received no more: %w", err))
			}
		}()
		return at, nil
	case err := <-failed:
		return nil, errors.Join(err, ctx.Err())
	}
}
