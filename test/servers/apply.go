package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner owns what Apply sets.
const fieldOwner = client.FieldOwner("furrow-test")

// Apply applies YAML documents to the cluster, CRDs and namespaces first, and takes over fields
// that others own. It returns when the CRDs are established and their resources can be used.
func (c *Cluster) Apply(ctx context.Context, documents []byte) error {
	objects, err := decode(documents)
	if err != nil {
		return fmt.Errorf("read what to apply to cluster %s: %w", c.Name, err)
	}
	var rest []*unstructured.Unstructured
	var crds []string
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition":
			crds = append(crds, object.GetName())
		case "Namespace":
		default:
			rest = append(rest, object)
			continue
		}
		if err := c.applyObject(ctx, object); err != nil {
			return err
		}
	}
	for _, name := range crds {
		if err := c.awaitCRD(ctx, name); err != nil {
			return err
		}
	}
	for _, object := range rest {
		if err := c.applyObject(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) applyObject(ctx context.Context, object *unstructured.Unstructured) error {
	err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s %s to cluster %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), c.Name, err)
	}
	return nil
}

// awaitCRD waits until a CRD is established and its versions are served. Established comes first:
// for a moment after it, discovery does not list the resource, and clients fail.
func (c *Cluster) awaitCRD(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	served, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("make a client for discovery: %w", err)
	}
	return Until(ctx, "CRD "+name+" is established", func(ctx context.Context) error {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
			return err
		}
		if !established(&crd) {
			return errors.New("it is not established")
		}
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			list, err := served.ServerResourcesForGroupVersion(crd.Spec.Group + "/" + version.Name)
			if err != nil {
				return err
			}
			found := false
			for _, resource := range list.APIResources {
				found = found || resource.Name == crd.Spec.Names.Plural
			}
			if !found {
				return fmt.Errorf("version %s is not served", version.Name)
			}
		}
		return nil
	})
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// decode reads the objects of YAML documents; lists are taken apart, empty documents skipped.
func decode(documents []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) == 0:
		case object.IsList():
			err = object.EachListItem(func(item runtime.Object) error {
				objects = append(objects, item.(*unstructured.Unstructured))
				return nil
			})
		default:
			objects = append(objects, object)
		}
		if err != nil {
			return nil, err
		}
	}
}
