package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/furrow-dev/furrow/test/servers"
)

//go:embed dockercluster.yaml
var dockerClusterCRD []byte

// startManagement starts mgmt, with Flux, and with what Cluster API and a provider install.
func (d *demonstration) startManagement(ctx context.Context) error {
	var err error
	d.mgmt, err = servers.StartCluster(ctx, servers.ClusterOptions{
		Name: "mgmt", Dir: d.folder.path("mgmt"), Controllers: true,
	})
	if err != nil {
		return err
	}
	crds, err := servers.CRDs(servers.ClusterAPI)
	if err != nil {
		return err
	}
	err = together(
		func() error { return d.mgmt.Apply(ctx, append(append(crds, "\n---\n"...), dockerClusterCRD...)) },
		func() error {
			_, err := d.mgmt.StartFlux(ctx, servers.FluxOptions{})
			return err
		},
	)
	if err == nil {
		d.started("mgmt", "an API server with Flux and the kinds of Cluster API")
	}
	return err
}

// startSite starts site-a, with Flux and a node.
func (d *demonstration) startSite(ctx context.Context) error {
	var err error
	d.siteA, err = servers.StartCluster(ctx, servers.ClusterOptions{
		Name: "site-a", Dir: d.folder.path("site-a"), Nodes: 1,
	})
	if err != nil {
		return err
	}
	if _, err := d.siteA.StartFlux(ctx, servers.FluxOptions{}); err != nil {
		return err
	}
	d.started("site-a", "an API server with Flux and a node")
	return nil
}

// started shows that something runs.
func (d *demonstration) started(name, what string) {
	d.screen.show("%7.1fs  %-8s %s\n", d.screen.elapsed().Seconds(), name, what)
}

// bootstrap lets the Flux of each cluster follow its folder of the GitOps repository.
func (d *demonstration) bootstrap(ctx context.Context) error {
	root := func(cluster *servers.Cluster) func() error {
		return func() error {
			return cluster.Bootstrap(ctx, servers.RootOptions{
				URL: d.people.url(gitopsRepo), Path: "./clusters/" + cluster.Name,
				Username: d.people.reader.name, Password: d.people.reader.secret,
			})
		}
	}
	if err := together(root(d.mgmt), root(d.siteA)); err != nil {
		return fmt.Errorf("bootstrap the clusters: %w", err)
	}
	return nil
}
