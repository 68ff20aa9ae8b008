// Package e2e runs whole stories on real servers: Gitea, the API servers of a management cluster
// and of the clusters that seeds create, Flux, and furrow as a process. It asserts only what is
// visible from outside: pull requests, objects on clusters, audit logs, furrow's commands and Git.
//
// One world serves all tests of a process: Gitea, the management cluster with Flux and the Cluster
// API's CRDs, and a binary of furrow. Each story has its own repositories, users, namespaces, root
// and furrow, so stories may run at once:
//
//	s := newStory(t, "rollout")
//	s.provideClusters(networkAddOn)               // starts a cluster for each Cluster object
//	s.commit("Plant it", s.fleet(), files{"seeds/web.yaml": web})
//	s.run()
//	s.step("the first tier is released when it is merged", func() {
//		s.release("web/mgmt/00", sdk.MergeStyleSquash)
//	})
//
// A story has an observer. Merges through the story wait until the observer has checked that the
// pull request was opened after its prerequisites were released. A violation of the rules at any
// time fails the test at its end.
//
// A story runs furrow run or, with throughController, furrow controller with exactly the rights of
// the shipped ServiceAccount and roles. A refused request is a violation and, if all stories run,
// so is a right that no story uses.
package e2e
