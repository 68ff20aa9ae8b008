package flux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/probe"
)

// kubeConfigSource is where a cluster's kubeconfig comes from.
type kubeConfigSource int

// The sources, in order of precedence.
const (
	byFile kubeConfigSource = iota
	bySecret
	inCluster
	byCreator
)

// silence is why something is not known of a cluster.
type silence struct {
	reason v1alpha1.Reason
	text   string
}

// silenceOf returns why a cluster could not be asked; an error without a reason counts as a server
// that does not answer.
func silenceOf(err error) silence {
	return silence{manifest.ReasonOf(manifest.About(manifest.Problem{Reason: v1alpha1.ReasonClusterSilent}, err)), err.Error()}
}

// errNoKubeConfig is for a cluster that has no kubeconfig, or no longer.
var errNoKubeConfig error = manifest.Problem{Reason: v1alpha1.ReasonKubeConfigMissing, Message: "there is no kubeconfig"}

// unread is a kubeconfig that cannot be read at the moment, which says nothing about
// what it holds, nor whether it is there.
type unread struct {
	source kubeConfigSource
	what   string
	reason v1alpha1.Reason
	why    string
}

// Reason returns why it cannot be read.
func (e *unread) Reason() string { return string(e.reason) }

func (e *unread) Error() string { return e.what + " cannot be read: " + e.why }

// access returns the first kubeconfig of the sources. A source without one returns nil. An error,
// because a kubeconfig is invalid or cannot be read, ends the search: a later source could belong
// to another cluster.
func (c *cluster) access(ctx context.Context) (*access, error) {
	sources := []func(context.Context) (*access, error){
		byFile: c.byFile, bySecret: c.bySecret, inCluster: c.inCluster, byCreator: c.byCreator,
	}
	for i, find := range sources {
		a, err := find(ctx)
		if err != nil {
			return nil, err
		}
		if a != nil {
			a.source = kubeConfigSource(i)
			return a, nil
		}
	}
	return nil, c.unreachable()
}

// unreachable says what people can do about a cluster without a kubeconfig.
func (c *cluster) unreachable() error {
	o := c.channel.options
	err := fmt.Errorf("%w for it. Put one into the directory of kubeconfigs, named %s", errNoKubeConfig, c.name)
	if o.Secret != nil {
		err = fmt.Errorf("%w for it. Put one into the %s under the key %q", errNoKubeConfig, o.secretName(c.name), secretKeys[0])
	}
	if o.Secret != nil && o.Directory != "" {
		err = fmt.Errorf("%w, or into the directory of kubeconfigs, named %s", err, c.name)
	}
	if o.OwnConfig != nil && o.Own == "" {
		err = fmt.Errorf("%w. If it is the cluster that Furrow runs in, start Furrow with --cluster %s", err, c.name)
	}
	return err
}

// byFile reads the kubeconfig in the directory of files; nil if there is none for the cluster.
func (c *cluster) byFile(context.Context) (*access, error) {
	name, data, ok, err := readFile(c.channel.options.Directory, c.name)
	switch {
	case err != nil:
		return nil, &unread{byFile, "the kubeconfig in file " + name, v1alpha1.ReasonKubeConfigInvalid, explain(err)}
	case !ok:
		return nil, nil
	}
	return fromFile(name, data)
}

// secretSuffix is what follows a cluster's name in that of its Secret.
const secretSuffix = "-kubeconfig"

// secretName names the Secret in which people put a cluster's kubeconfig.
func (o Options) secretName(cluster string) string {
	name := cluster + secretSuffix
	if o.SecretsIn != "" {
		name = o.SecretsIn + "/" + name
	}
	return "Secret " + name
}

// bySecret reads the Secret in which people put the kubeconfig for Furrow; nil if there is none,
// and then the next way is tried.
func (c *cluster) bySecret(ctx context.Context) (*access, error) {
	o := c.channel.options
	if o.Secret == nil || !isName(c.name) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	data, err := o.Secret(ctx, c.name+secretSuffix)
	origin := o.secretName(c.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		why, reason := explain(err), reasonOf(err)
		if apierrors.IsForbidden(err) {
			why += ". Let Furrow get Secrets of that namespace"
		}
		return nil, &unread{bySecret, "the " + origin, reason, why}
	}
	config, err := kubeConfigOf(origin, decoded(data))
	if err != nil {
		return nil, err
	}
	return fromSecret(origin, config)
}

// inCluster returns the access with which Furrow runs, if this is its own cluster.
func (c *cluster) inCluster(context.Context) (*access, error) {
	o := c.channel.options
	if o.OwnConfig == nil || o.Own == "" || o.Own != c.name {
		return nil, nil
	}
	return fromOwn(o.OwnConfig), nil
}

// byCreator reads the Secret that the cluster's creator leaves, through the cluster that has it. It
// is not read before the creator exists: until that is merged, the seed only declares its
// namespace, and nobody has reviewed that. A cluster to which there is a connection already is not
// checked again.
//
// It waits a moment (firstAnswerTimeout) for the holder to be connected to, because at the start all
// connections begin at once.
func (c *cluster) byCreator(ctx context.Context) (*access, error) {
	c.mu.Lock()
	creator, connected := c.creator, c.session != nil
	c.mu.Unlock()
	key := creator.KubeConfig
	if key.Name == "" || key.Cluster == c.name {
		return nil, nil
	}
	holder, err := c.channel.cluster(key.Cluster)
	if err != nil {
		return nil, err
	}
	origin := secretName(key)
	limited, cancel := context.WithTimeout(ctx, firstAnswerTimeout)
	defer cancel()
	holder.decided.wait(limited)
	conn, why := holder.reached()
	if conn == nil {
		return nil, &unread{byCreator, "the " + origin, why.reason, why.text}
	}
	if !connected {
		if err := c.channel.creatorIsThere(ctx, creator); err != nil {
			return nil, err
		}
	}
	object, err := conn.read(ctx, resource{secrets, true}, key.Namespace, key.Name)
	switch {
	case notFound(err):
		return nil, fmt.Errorf("%w: the %s is not there yet", errNoKubeConfig, origin)
	case err != nil:
		return nil, &unread{byCreator, "the " + origin, reasonOf(err), explain(err)}
	}
	content, _, _ := unstructured.NestedMap(object.Object, "data")
	kind, _ := catalog.Creator(creator.Object.GroupKind())
	config, err := kubeConfigOf(origin, encoded(content), kind.KubeConfigKey())
	if err != nil {
		return nil, err
	}
	return fromSecret(origin, config)
}

// reasonOf returns why an API server did not give what it was asked for.
func reasonOf(err error) v1alpha1.Reason {
	if apierrors.IsForbidden(err) {
		return v1alpha1.ReasonAccessForbidden
	}
	return v1alpha1.ReasonClusterSilent
}

// creatorIsThere returns an error while a creator is not on its cluster, or that is not known.
func (ch *Channel) creatorIsThere(ctx context.Context, creator probe.CreatorKey) error {
	on, err := ch.cluster(creator.Cluster)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, firstAnswerTimeout)
	defer cancel()
	on.decided.wait(limited)
	key := creatorObject(creator)
	what := fmt.Sprintf("the creator %s on cluster %s", key, creator.Cluster)
	conn, why := on.reached()
	if conn == nil {
		return &unread{byCreator, what, why.reason, why.text}
	}
	_, err = conn.object(ctx, key.gvk, key.name.namespace, key.name.name)
	switch {
	case notFound(err):
		return fmt.Errorf("%w: %s is not there yet", errNoKubeConfig, what)
	case err != nil:
		return &unread{byCreator, what, reasonOf(err), explain(err)}
	}
	return nil
}

// secretName names a Secret that a creator leaves.
func secretName(key probe.SecretKey) string {
	return fmt.Sprintf("Secret %s/%s on cluster %s", key.Namespace, key.Name, key.Cluster)
}
