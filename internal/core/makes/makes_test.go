package makes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// objectOf reads one object.
func objectOf(t *testing.T, text string) *manifest.Object {
	t.Helper()
	var body map[string]any
	if err := yaml.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	version, _ := body["apiVersion"].(string)
	group, _, grouped := strings.Cut(version, "/")
	if !grouped {
		group = ""
	}
	o := manifest.Object{Body: body}
	o.ID = manifest.ID{Group: group, Kind: o.Text("kind"), Namespace: o.Text("metadata", "namespace"), Name: o.Text("metadata", "name")}
	return &o
}

func TestWhatObjectsMake(t *testing.T) {
	for sentence, c := range map[string]struct {
		object string
		want   []string // kind namespace/name
	}{
		"by the name of the object": {
			"{apiVersion: rabbitmq.com/v1beta1, kind: RabbitmqCluster, metadata: {name: mq, namespace: a}}",
			[]string{"ConfigMap a/mq-plugins-conf", "ConfigMap a/mq-server-conf", "Secret a/mq-default-user", "Secret a/mq-erlang-cookie"},
		},
		"by a field of a list": {
			"{apiVersion: isindir.github.com/v1alpha3, kind: SopsSecret, metadata: {name: s, namespace: a}, spec: {secretTemplates: [{name: x}, {name: z}]}}",
			[]string{"Secret a/x", "Secret a/z"},
		},
		"by any key of a mapping": {
			"{apiVersion: cache.azure.com/v1, kind: Redis, metadata: {name: r, namespace: a}, spec: {operatorSpec: {secrets: {hostName: {name: h, key: k}, primaryKey: {name: p, key: k}}}}}",
			[]string{"Secret a/h", "Secret a/p"},
		},
		"in another namespace": {
			"{apiVersion: sriovnetwork.openshift.io/v1, kind: SriovNetwork, metadata: {name: n3, namespace: op}, spec: {networkNamespace: upf}}",
			[]string{"NetworkAttachmentDefinition upf/n3"},
		},
		"in all namespaces": {
			"{apiVersion: trust.cert-manager.io/v1alpha1, kind: Bundle, metadata: {name: ca}}",
			[]string{"ConfigMap */ca", "Secret */ca"},
		},
		"by a field that any custom kind may have": {
			"{apiVersion: sql.example.com/v1, kind: Database, metadata: {name: d, namespace: a}, spec: {writeConnectionSecretToRef: {name: conn}}}",
			[]string{"Secret a/conn"},
		},
		"by a chart": {
			"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: gpu, namespace: a}, spec: {chart: {spec: {chart: nvidia-device-plugin}}}}",
			[]string{"Resource /nvidia.com/*"},
		},
		"a Job by its flag": {
			"{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: a}, spec: {template: {spec: {containers: [{args: [create, --secret-name=tls]}]}}}}",
			[]string{"Secret a/tls"},
		},
		"but not one that patches": {
			"{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: a}, spec: {template: {spec: {containers: [{args: [patch, --webhook-name=w, --secret-name=tls]}]}}}}",
			nil,
		},
		"copies of a Secret": {
			"{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: a, annotations: {replicator.v1.mittwald.de/replicate-to: 'b, c-.*'}}}",
			[]string{"Secret */s", "Secret b/s"},
		},
		"copies of what it makes itself": {
			"{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c, namespace: a}, spec: {secretName: tls, secretTemplate: {annotations: {reflector.v1.k8s.emberstack.com/reflection-auto-namespaces: b}}}}",
			[]string{"Secret a/tls", "Secret b/tls"},
		},
		"no pattern that the object itself has": {
			"{apiVersion: sql.example.com/v1, kind: Database, metadata: {name: d, namespace: a}, spec: {writeConnectionSecretToRef: {name: '*', namespace: '*'}}}",
			nil,
		},
		"nothing": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: a}}", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, thing := range By(objectOf(t, c.object), func(manifest.ID) *manifest.Object { return nil }) {
				got = append(got, fmt.Sprintf("%s %s/%s", thing.Kind, thing.Namespace, thing.Name))
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, c.want) {
				t.Errorf("it makes %q, want %q", got, c.want)
			}
		})
	}
}

func TestAThingIsFoundByItsPattern(t *testing.T) {
	var x Index[string]
	x.Add("pg", []Thing{newThing("Secret", "a", "*.pg.credentials", false), newThing("Resource", "", "*/nic", false)})
	x.Add("filled", []Thing{newThing("Secret", "a", "tls", true)})
	x.Add("made", []Thing{newThing("Secret", "a", "tls", false)})
	for _, c := range []struct {
		kind, namespace, name string
		known                 bool
		want                  []string
	}{
		{"Secret", "a", "shop.pg.credentials", false, []string{"pg"}},
		{"Secret", "a", "shop.other.credentials", false, nil},
		{"Secret", "b", "shop.pg.credentials", false, nil},
		{"Resource", "", "openshift.io/nic", false, []string{"pg"}},
		{"Secret", "a", "tls", false, []string{"filled", "made"}},
		{"Secret", "a", "tls", true, []string{"filled"}},
	} {
		if got := x.MakersOf(c.kind, c.namespace, c.name, c.known); !slices.Equal(got, c.want) {
			t.Errorf("%s %s/%s is made by %q, want %q", c.kind, c.namespace, c.name, got, c.want)
		}
	}
}

// TestNoRowIsLeftOutForItsFields compares what is found with what the rows alone say, with each of their fields set.
func TestNoRowIsLeftOutForItsFields(t *testing.T) {
	for kind, of := range read().byKind {
		if kind.Kind == "*" || manifest.ServedByKubernetes(kind) {
			continue
		}
		for i := range of {
			for _, p := range of[i].names {
				o := manifest.Object{
					ID:   manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: "shop", Name: "one"},
					Body: map[string]any{"metadata": map[string]any{"name": "one"}, "spec": map[string]any{}},
				}
				for _, at := range p.paths {
					in := o.Body
					for _, key := range at[:len(at)-1] {
						next, ok := in[strings.ReplaceAll(key, "*", "any")].(map[string]any)
						if !ok {
							next = map[string]any{}
							in[strings.ReplaceAll(key, "*", "any")] = next
						}
						in = next
					}
					in[strings.ReplaceAll(at[len(at)-1], "*", "any")] = "made"
				}
				found := By(&o, func(manifest.ID) *manifest.Object { return nil })
				for _, want := range rowsOf(kind).of(&o) {
					if !slices.Contains(found, want) {
						t.Errorf("a %s makes %v by %v, and only %v is found", kind, want, p, found)
					}
				}
			}
		}
	}
}

func TestARowThatSaysTooLittleIsRefused(t *testing.T) {
	for _, text := range []string{"[{kind: A, names: [x]}]", "[{kind: A, makes: Secret}]", "[{makes: Secret, names: [x]}]", "[{kind: A, chart: a, makes: Secret, names: [x]}]", "[{kid: A}]"} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}
