package servers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// controllerGrace is how long a controller may take to end by itself.
const controllerGrace = 3 * time.Second

// startControllers starts the controllers that were asked for, and makes the nodes and waits for
// them. KWOK plays the nodes and the kubelets: by its stages, a node is ready and a pod Ready soon
// after they are made, and nothing runs.
func (c *Cluster) startControllers(ctx context.Context) error {
	if c.options.Controllers {
		args := []string{
			"--leader-elect=false",
			"--secure-port=0",
			"--service-account-private-key-file=" + c.authority.keyFile("service-accounts"),
			"--root-ca-file=" + c.authority.certFile("ca"),
		}
		if len(c.options.OnlyControllers) > 0 {
			args = append(args, "--controllers="+strings.Join(c.options.OnlyControllers, ","))
		}
		if err := c.startController(Kubernetes, "kube-controller-manager", args...); err != nil {
			return err
		}
	}
	if c.options.Scheduler {
		if err := c.startController(Kubernetes, "kube-scheduler", "--leader-elect=false", "--secure-port=0"); err != nil {
			return err
		}
	}
	if c.options.Nodes == 0 {
		return nil
	}
	stages := filepath.Join(c.bin.Dir(KWOK), "stages")
	files, err := yamlFiles(stages+"/node-fast", stages+"/node-heartbeat", stages+"/pod-fast")
	if err != nil {
		return err
	}
	args := []string{"--manage-all-nodes=true"}
	for _, file := range files {
		args = append(args, "--config="+file)
	}
	if err := c.startController(KWOK, "kwok", args...); err != nil {
		return err
	}
	return c.makeNodes(ctx)
}

// startController starts a program that works on the cluster as a user of its own name.
func (c *Cluster) startController(server Name, program string, args ...string) error {
	_, kubeConfig, err := c.kubeConfig(program)
	if err != nil {
		return err
	}
	controller, err := start(c.command(c.bin, server, program, append(args, "--kubeconfig="+kubeConfig)...))
	if err != nil {
		return err
	}
	c.controllers = append(c.controllers, controller)
	return nil
}

// makeNodes makes the nodes and waits until they are ready.
func (c *Cluster) makeNodes(ctx context.Context) error {
	var nodes []*corev1.Node
	for i := range c.options.Nodes {
		name := fmt.Sprintf("%s-node-%d", c.Name, i+1)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
		}}
		if err := c.client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make node %s: %w", name, err)
		}
		nodes = append(nodes, node)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return Until(ctx, "the nodes are ready", func(ctx context.Context) error {
		for _, controller := range c.controllers {
			if controller.ended() {
				return fmt.Errorf("%s ended; see %s", controller.name, controller.log)
			}
		}
		var waiting []string
		for _, node := range nodes {
			if err := c.client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
				return err
			}
			if !nodeReady(node) {
				waiting = append(waiting, node.Name)
			}
		}
		if len(waiting) > 0 {
			return errors.New("not ready: " + strings.Join(waiting, ", "))
		}
		return nil
	})
}

// nodeReady reports whether pods may run on node: it is ready, and nothing keeps pods away.
func nodeReady(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
