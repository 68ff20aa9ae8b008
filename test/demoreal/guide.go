package main

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/internal/demo"
	"github.com/furrow-dev/furrow/test/servers"
)

// guide shows where everything is, and what to do.
func (d *demonstration) guide() {
	text := intro
	if !d.options.merge {
		text += instructions
	}
	kept := "kept at the end: continue with -dir"
	if d.folder.temporary {
		kept = "removed at the end"
	}
	d.screen.show("%s", strings.NewReplacer(
		"PULLS", d.people.pulls(), "PERSON", personName, "PASSWORD", d.people.person.secret,
		"MGMT", reached(d.mgmt), "SITE", reached(d.siteA), "CONTEXTS", d.folder.path("kubeconfig"),
		"DIR", d.folder.dir, "KEPT", kept, "SEED", demo.Seed,
	).Replace(text))
}

// reached returns where a cluster's API server is, and its name in the kubeconfig.
func reached(cluster *servers.Cluster) string {
	return fmt.Sprintf("%s   context %s", cluster.URL, cluster.Name)
}

const intro = `
Gitea      PULLS
           log in as  PERSON  with the password  PASSWORD
Clusters   mgmt     MGMT
           site-a   SITE
           edge-1   when the seed SEED has brought it
Kubeconfig CONTEXTS
Folder     DIR  (KEPT)

`

const instructions = `Merge the pull requests in Gitea. Each lets the next ones come, until everything is Released.
In another terminal:

  . DIR/env     # puts furrow and kubectl on the PATH, and sets FURROW_… and KUBECONFIG
  furrow status --watch
  furrow pr merge --all                                  # instead of the button in Gitea
  kubectl --context mgmt get kustomizations,clusters -A
  kubectl --context site-a get slices,pods -A
  kubectl --context edge-1 get slices,pods -A            # when it is there

When everything is Released, commit an update:

  cd DIR/repositories/control-plane
  cp ../update/SEED.yaml seeds/
  git commit -am "Update SEED to 1.1.0" && git push --quiet

Ctrl-C ends it all. What follows is the output of furrow run, and what the provider does.

`
