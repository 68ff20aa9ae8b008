// Package e2e tells whole stories on real servers: Gitea, the API servers of a management cluster and of the clusters
// that seeds create, Flux, and furrow as a process. What is asserted is what anybody can see from outside: pull requests,
// objects on clusters, audit logs, furrow's commands and Git.
//
// One world serves all tests of a process: Gitea, the management cluster with Flux and the Cluster API's CRDs, and a
// binary of furrow. Each story has its own repositories, users, namespaces, root and furrow in it, so that stories may
// run at once:
//
//	s := newStory(t, "rollout")
//	s.provideClusters(networkAddOn)               // clusters come into being when a Cluster object asks for them
//	s.commit("Plant it", s.fleet(), files{"seeds/web.yaml": web})
//	s.run()
//	s.step("the first tier is released when it is merged", func() {
//		s.release("web/mgmt/00", sdk.MergeStyleSquash)
//	})
//
// A story watches itself: whoever merges through it waits until its observer has checked that the pull request was
// opened after what it waits for was released. What goes against the rules at any time fails the test at its end.
//
// A story is told by furrow run or, with throughController, by furrow controller, which has the rights of the
// ServiceAccount and the roles that are shipped and no others. Being refused anything is against the rules, and so is a
// right that no story makes use of, where all of them are told.
package e2e
