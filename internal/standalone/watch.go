package standalone

import (
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/furrow-dev/furrow/internal/probe/flux"
)

// Watch makes the health channel that asks Flux on the clusters through the
// kubeconfigs in a directory, one file a cluster.
func Watch(kubeconfigs string) *flux.Channel {
	klog.SetLogger(logr.Discard()) // what client libraries log is in what the channel answers
	return flux.New(flux.Options{Directory: kubeconfigs})
}
