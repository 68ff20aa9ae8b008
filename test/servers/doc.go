// Package servers starts the real servers that tests and the demo run on: etcd and kube-apiserver,
// their controllers, KWOK's nodes, Flux, and Gitea. Package store builds them (make servers); here
// they are found, started, disturbed and stopped. It runs on Unix only.
//
// In a test:
//
//	servers.Need(t, servers.ForCluster...)        // skips when they are not built; fails if FURROW_REQUIRE_SERVERS is set
//	forge := servers.MustGitea(t, servers.GiteaOptions{})
//	clusters := servers.MustClusters(t, servers.ClusterOptions{Name: "a", Audit: true}, servers.ClusterOptions{Name: "b"})
//	servers.MustFlux(t, clusters[0], servers.FluxOptions{})
//
// What is started with Must… ends with the test, in the right order, and leaves nothing behind.
// When the test failed, the logs are copied to a folder named after it in $FURROW_LOGS, or in the
// temporary folder when that is not set, and their last lines are printed.
//
// In a program: StartCluster, (*Cluster).StartFlux and StartGitea take a folder that is theirs, and
// a context that bounds the start and not the life of what is started; each has a Stop. A folder
// can be started in again: authorities, certificates, ports, data and tokens are those of before.
// See Cluster, Flux and Gitea for what can be done to them.
//
// All listen on the loopback interface only, on ports below those that the system hands out for
// outgoing connections, so a server that is stopped finds its port free when it comes back.
// Every process is a group of its own, and on Linux it is killed when this process ends, however it
// ends. Different servers may be used from different goroutines at once; the methods of one that
// start, stop or pause it may not.
package servers
