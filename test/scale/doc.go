// Package scale plants whole fleets: a real API server, a Git server over HTTP, the
// controllers in this process, and simulated clusters. It counts the requests to the
// servers and measures time and memory, for fleets of several sizes, to find costs that
// grow faster than the fleet.
//
// A fleet moves in steps: when a pass has found nothing to do, all open proposals are
// merged, and all clusters advance by a tick. So the counts depend only on the size of
// the fleet; times and memory depend on the machine.
//
// It needs the servers that `make servers` builds, and git with its http-backend.
package scale
