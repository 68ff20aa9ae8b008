package cli

import (
	"strings"
	"testing"
)

const aJob = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: default}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}
`

func TestLintNamesWhatServersRefuseOfAChange(t *testing.T) {
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": aJob})
	p.git("control-plane", "checkout", "--quiet", "-b", "next")
	changed := strings.Replace(aJob, "a:1", "a:2", 1)
	p.write("control-plane", map[string]string{"seeds/web.yaml": changed})
	p.write("before", map[string]string{"web.yaml": aJob})
	p.write("after", map[string]string{"web.yaml": changed})

	const refused = `Job "migrate": the change will fail on `
	for name, args := range map[string][]string{
		"a branch": {"--against", "main"},
		"a file":   {"-f", p.at("after/web.yaml"), "--against", p.at("before/web.yaml")},
	} {
		if out := p.must(append([]string{"lint"}, args...)...); !strings.Contains(out, refused) || !strings.Contains(out, "spec.template.spec.containers[a].image") {
			t.Errorf("against %s: %s", name, out)
		}
	}
	if out := p.must("lint"); strings.Contains(out, refused) {
		t.Errorf("without another state: %s", out)
	}
	p.write("control-plane", map[string]string{"seeds/web.yaml": strings.Replace(changed, "namespace: default", "namespace: default, annotations: {furrow.dev/recreate: allow}", 1)})
	mustContain(t, p.must("lint", "--against", "main"), `Job "migrate": it is deleted and created again on `)
	p.write("control-plane", map[string]string{"seeds/web.yaml": strings.Replace(changed, "namespace: default", "namespace: default, annotations: {furrow.dev/recreate: always}", 1)})
	if r := p.furrow("lint"); r.code != exitProblems {
		t.Errorf("an unknown value ends with %d: %s", r.code, r.all())
	}
}

const aDisk = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: disks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: disks, kind: Disk, listKind: DiskList, singular: disk}
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
            properties:
              class: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: class is immutable}]}
---
apiVersion: example.com/v1
kind: Disk
metadata: {name: d, namespace: default}
spec: {class: fast}
`

func TestLintNamesWhatTheRulesOfAKindRefuseOfAChange(t *testing.T) {
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": aDisk})
	p.git("control-plane", "checkout", "--quiet", "-b", "next")
	p.write("control-plane", map[string]string{"seeds/web.yaml": strings.Replace(aDisk, "class: fast", "class: slow", 1)})
	out := p.must("lint", "--against", "main")
	if !strings.Contains(out, `Disk "d": the change will fail on `) || !strings.Contains(out, "spec.class (class is immutable)") {
		t.Errorf("got %s", out)
	}
}
