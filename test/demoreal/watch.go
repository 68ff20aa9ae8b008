package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/furrow-dev/furrow/test/servers"
)

const (
	// watchEvery is how often the servers are checked.
	watchEvery = 2 * time.Second
	// watchLimit is how long a server may be silent; one that refuses connections has ended.
	watchLimit = 30 * time.Second
)

// watched is a server that has to be there.
type watched struct {
	name, url string
	config    *rest.Config
	// logs are its log files, the most useful one first.
	logs []string
}

// watched returns all servers that have to be there now.
func (d *demonstration) watched() []watched {
	all := []watched{{
		name: "Gitea", url: d.gitea.URL + "/api/v1/version", config: &rest.Config{},
		logs: []string{filepath.Join(d.gitea.Dir, "logs", "gitea.log")},
	}}
	for _, cluster := range append([]*servers.Cluster{d.mgmt, d.siteA}, d.provider.running()...) {
		logs := filepath.Join(cluster.Dir, "logs")
		all = append(all, watched{
			name: "cluster " + cluster.Name, url: cluster.URL + "/readyz", config: cluster.Config,
			logs: []string{filepath.Join(logs, "kube-apiserver.log"), filepath.Join(logs, "etcd.log")},
		})
	}
	return all
}

// watch has the demo fail when a server ends by itself. Refused connections mean that at once;
// silence only after watchLimit, because a machine with much to do may pause a server for seconds.
func (d *demonstration) watch(ctx context.Context) {
	answered := map[string]time.Time{}
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		for _, server := range d.watched() {
			if _, known := answered[server.url]; !known {
				answered[server.url] = time.Now()
			}
			err := server.answers(ctx)
			switch {
			case err == nil:
				answered[server.url] = time.Now()
			case ctx.Err() != nil || !d.isWatched(server):
			case errors.Is(err, syscall.ECONNREFUSED), time.Since(answered[server.url]) > watchLimit:
				d.fail(server.ended(err))
				return
			}
		}
	}
}

// isWatched reports whether a server was not stopped on purpose meanwhile.
func (d *demonstration) isWatched(server watched) bool {
	return slices.ContainsFunc(d.watched(), func(other watched) bool { return other.url == server.url })
}

// answers says why a server does not answer well.
func (w watched) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchEvery)
	defer cancel()
	client, err := rest.HTTPClientFor(w.config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, http.NoBody)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}

// ended returns the error of a server that is not there any more.
func (w watched) ended(err error) error {
	var logs strings.Builder
	for _, path := range w.logs {
		fmt.Fprintf(&logs, "\nThe end of %s:\n%s", path, tail(path, 10))
	}
	return fmt.Errorf("%s ended by itself: %w%s", w.name, err, logs.String())
}
