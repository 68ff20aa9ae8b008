// Package scale plants whole fleets: a real API server, a Git server over HTTP, the
// controllers in this process, and clusters that the simulator plays. It counts what is
// asked of the servers and measures time and memory, for fleets of several sizes, so
// that what does not grow with the fleet alone is found out.
//
// A fleet moves in step: only when a pass has found nothing to do are all open proposals
// merged, and all clusters go on by a tick. So what is counted depends on the size of the
// fleet and on nothing else; times and memory depend on the machine.
//
// It needs the servers that `make servers` builds, and git with its http-backend.
package scale
