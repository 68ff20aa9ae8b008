package plan_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

func TestWhatAllClustersOfAnObjectProvideIsNotMissing(t *testing.T) {
	cluster := func(name, provides string) string {
		return "---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + "}\nspec: {provides: {" + provides + "}}\n"
	}
	const both = "objects: [{kind: StorageClass.storage.k8s.io, name: fast}, {kind: Secret, namespace: default, name: db}]"
	const names = `apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c, image: c, envFrom: [{secretRef: {name: db}}]}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]}
`
	for sentence, c := range map[string]struct{ clusters, missing string }{
		"nothing is listed":                    {cluster("a", "") + cluster("b", ""), `StorageClass "fast" and Secret "db"`},
		"all clusters have both":               {cluster("a", both) + cluster("b", both), ""},
		"one cluster has neither":              {cluster("a", both) + cluster("b", ""), `StorageClass "fast" and Secret "db"`},
		"the Secret is in another Namespace":   {cluster("a", "objects: [{kind: StorageClass.storage.k8s.io, name: fast}, {kind: Secret, namespace: other, name: db}]"), `Secret "db"`},
		"an object of the kind is not enough":  {cluster("a", "objects: [{kind: StorageClass.storage.k8s.io, name: slow}, {kind: Secret, namespace: default, name: db}]"), `StorageClass "fast"`},
		"a kind of another group has the name": {cluster("a", "objects: [{kind: StorageClass.example.com, name: fast}, {kind: Secret, namespace: default, name: db}]"), `StorageClass "fast"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := compute(t, fstest.MapFS{"clusters.yaml": {Data: []byte(c.clusters)}, "seeds/web.yaml": {Data: []byte(names)}})["web"]
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			got := ""
			for _, w := range o.Plan.Warnings {
				if w.Reason == v1alpha1.ReasonReferenceMissing {
					got += w.Message
				}
			}
			if (got == "") != (c.missing == "") || !strings.HasPrefix(got, "it names "+c.missing) && got != "" {
				t.Errorf("the warning is %q, want it to name %q", got, c.missing)
			}
		})
	}
}
