// Package sample makes manifests and control planes of any size, for benchmarks.
package sample

import (
	"bytes"
	"fmt"
	"io/fs"
	"testing/fstest"
)

// Manifests returns documents of n objects: 2 % are Namespaces and 1 % CustomResourceDefinitions. Of
// the rest, a third are custom resources, a third ConfigMaps, and a third Deployments that name one.
func Manifests(n int) []byte {
	var b bytes.Buffer
	namespaces, definitions := max(1, n/50), max(1, n/100)
	for i := range namespaces {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: ns-%d\n", i)
	}
	for i := range definitions {
		fmt.Fprintf(&b, definition, i)
	}
	for i := range n - namespaces - definitions {
		namespace := i % namespaces
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, resource, i%definitions, i, namespace)
		case 1:
			fmt.Fprintf(&b, configMap, i, namespace)
		default:
			fmt.Fprintf(&b, deployment, i, namespace)
		}
	}
	return b.Bytes()
}

const (
	definition = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things%[1]d.g%[1]d.example.com
spec:
  group: g%[1]d.example.com
  names:
    kind: Thing%[1]d
    listKind: Thing%[1]dList
    plural: things%[1]d
    singular: thing%[1]d
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`
	resource = `---
apiVersion: g%[1]d.example.com/v1
kind: Thing%[1]d
metadata:
  name: thing-%[2]d
  namespace: ns-%[3]d
spec:
  size: 3
  mode: fast
  ref:
    name: cm-%[2]d
`
	configMap = `---
apiVersion: v1
kind: ConfigMap
metadata:
  name: cm-%[1]d
  namespace: ns-%[2]d
  labels:
    app: app-%[1]d
data:
  key: "value-%[1]d"
  config.ini: |
    [main]
    level = info
    number = %[1]d
`
	deployment = `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%[1]d
  namespace: ns-%[2]d
  labels:
    app: app-%[1]d
spec:
  replicas: 2
  selector:
    matchLabels:
      app: app-%[1]d
  template:
    metadata:
      labels:
        app: app-%[1]d
    spec:
      containers:
      - name: main
        image: registry.example.com/app:1.2.%[1]d
        args: ["--port=8080", "--verbose"]
        ports:
        - containerPort: 8080
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits:
            memory: 256Mi
        env:
        - name: CONFIG
          valueFrom:
            configMapKeyRef:
              name: cm-%[1]d
              key: key
`
)

// ControlPlane returns a tree with a management cluster that reconciles the other clusters, and
// seeds of some objects each for all of these: a Namespace and ConfigMaps.
func ControlPlane(seeds, objects, clusters int) fstest.MapFS {
	tree := fstest.MapFS{}
	var b bytes.Buffer
	b.WriteString("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: management}\nspec: {role: Management}\n")
	for i := range clusters {
		fmt.Fprintf(&b, "---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: site-%05d, labels: {region: eu}}\nspec: {reconciledBy: management}\n", i)
	}
	tree["clusters.yaml"] = File(b.Bytes())
	for s := range seeds {
		tree[fmt.Sprintf("seeds/seed-%04d.yaml", s)] = File(Seed(s, objects, ""))
	}
	return tree
}

// Seed returns the objects of one seed of a ControlPlane; text is in one of them.
func Seed(number, objects int, text string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: seed-%04d\n", number)
	for i := range objects - 1 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%d\n  namespace: seed-%04d\ndata:\n  key: \"value %s\"\n", i, number, text)
		text = ""
	}
	return b.Bytes()
}

// File is a file of a tree.
func File(data []byte) *fstest.MapFile { return &fstest.MapFile{Data: data, Mode: fs.FileMode(0o644)} }
