package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// served makes a workspace whose repositories are reached by http, and a Seed resource
// for each of its seeds.
func served(t *testing.T, seeds map[string]string) (*workspace, *api) {
	t.Helper()
	p := newWorkspace(t, seeds)
	server := httptest.NewServer(&cgi.Handler{
		Path: p.git(".", "--exec-path") + "/git-http-backend", Stderr: &textOf{},
		Env: []string{"GIT_PROJECT_ROOT=" + p.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ann"},
	})
	t.Cleanup(server.Close)
	if err := os.Symlink(p.at("control-plane/.git"), p.at("control-plane.git")); err != nil {
		t.Fatal(err)
	}
	p.commit(map[string]string{"gitops-repo.yaml": document("GitOpsRepo", "fleet", "spec: {url: "+server.URL+"/fleet.git}")})
	p.git("control-plane", "remote", "add", "origin", server.URL+"/control-plane.git")
	a := newAPI(t)
	for _, name := range []string{"web", "shop"} {
		if err := a.Delete(t.Context(), a.seed(name)); err != nil {
			t.Fatal(err)
		}
	}
	for file := range seeds {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "seeds/"), ".yaml")
		if err := a.Create(t.Context(), &v1alpha1.Seed{
			ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name},
			Spec:       v1alpha1.SeedSpec{Source: &v1alpha1.SeedSource{URL: server.URL + "/control-plane.git"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	return p, a
}

// kubectl runs a command that opens repositories, and must end with a code.
func (p *workspace) kubectl(a *api, code int, words string) result {
	p.t.Helper()
	r := a.call(append(strings.Fields(words), "--cache", p.at("kube-cache"))...)
	if r.code != code {
		p.t.Fatalf("kubectl furrow %s ends with %d:\n%s", words, r.code, r.all())
	}
	return r
}

// moreSeed is webSeed with one object more, and another color.
var moreSeed = strings.Replace(webSeed, "color: green", "color: blue", 1) + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: web, annotations: {furrow.dev/depends-on: apps/Deployment/web/web}}
`

// commits are ids that differ from run to run.
var commits = regexp.MustCompile(`[0-9a-f]{40}`)

func TestAPlanIsComparedWithThatOfABranch(t *testing.T) {
	p, a := served(t, map[string]string{"seeds/web.yaml": webSeed})

	mustContain(t, p.kubectl(a, exitOK, "plan web").stdout, "No plan of seed web is in force yet. The next one:", "Seed web: 6 objects in 6 tiers on 2 clusters")
	p.must("run", "--once")
	mustContain(t, p.kubectl(a, exitOK, "plan web").stdout, "Seed web: 6 objects in 6 tiers on 2 clusters", "nothing changes.\n")

	p.git("control-plane", "checkout", "--quiet", "-b", "more")
	p.commit(map[string]string{"seeds/web.yaml": moreSeed})
	p.git("control-plane", "checkout", "--quiet", "main")
	r := p.kubectl(a, exitOK, "plan web --ref more")
	mustShow(t, "plan-ref", result{stdout: commits.ReplaceAllString(r.all(), "b6d52eb1da0409e6b911255524cd0db1bf71ebc3")})
	var view planDiff
	if err := json.Unmarshal([]byte(p.kubectl(a, exitOK, "plan web --ref more -o json").stdout), &view); err != nil || len(view.Changes) != 8 || view.InForce == nil {
		t.Errorf("%v: %+v", err, view)
	}

	withoutDeployment, _, _ := strings.Cut(webSeed, "---\napiVersion: apps/v1")
	p.git("control-plane", "checkout", "--quiet", "-b", "less")
	p.commit(map[string]string{"seeds/web.yaml": withoutDeployment})
	p.git("control-plane", "checkout", "--quiet", "main")
	mustContain(t, p.kubectl(a, exitOK, "plan web --ref less").stdout, "2 tiers to leave, 4 tiers to stay", "- east tier 02\n    - apps/Deployment/web/web\n")

	p.git("control-plane", "checkout", "--quiet", "-b", "bad")
	p.commit(map[string]string{"seeds/web.yaml": circleSeed})
	p.git("control-plane", "checkout", "--quiet", "main")
	r = p.kubectl(a, exitProblems, "plan web --ref bad")
	mustContain(t, r.stderr, "error: ", "the objects wait for each other in a circle")
	mustContain(t, r.stdout, "Seed web cannot be planned with bad@sha1:", "; the plan in force stays.\n")

	mustContain(t, p.kubectl(a, exitFailed, "plan web --ref gone").stderr, `has no branch "gone"`)
	mustContain(t, p.kubectl(a, exitFailed, "plan web --id other").stderr, `belongs to control plane "control-plane/default" of origin `)
	if refs := p.git("fleet.git", "for-each-ref", "--format=%(refname)", "refs/heads/furrow/main/plan"); refs != "refs/heads/furrow/main/plan/web" {
		t.Errorf("branches of plans: %s", refs)
	}
}

func TestAnObjectIsExplainedByItsPlantings(t *testing.T) {
	p, a := served(t, map[string]string{"seeds/web.yaml": webSeed})
	p.must("run", "--once")
	mustContain(t, p.kubectl(a, exitOK, "explain Deployment/web/web").stdout, "no controller has observed it", "east tier 02: Unknown: not planned by a run yet\n")
	seed := a.seed("web")
	seed.Status.Plan = &v1alpha1.PlanSummary{Revision: "main@sha1:" + p.git("control-plane", "rev-parse", "main")}
	seed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	if err := a.Status().Update(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	mustShow(t, "explain", p.kubectl(a, exitOK, "explain Deployment/web/web"))
	mustContain(t, p.kubectl(a, exitOK, "explain settings --seed web -o yaml").stdout, "state: Proposed")
	a.funcs.List = func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
		if _, is := o.(*v1alpha1.PlantingList); is {
			return errors.New("no Plantings today")
		}
		return c.List(ctx, o, opts...)
	}
	mustContain(t, p.kubectl(a, exitFailed, "explain Deployment/web/web").stderr, "no Plantings today")
	a.funcs.List = nil
	mustContain(t, p.kubectl(a, exitFailed, "explain nothing").stderr, `no plan has an object "nothing"; 'kubectl furrow plan SEED' lists all objects`)
	mustContain(t, p.kubectl(a, exitFailed, "explain web --seed wbe").stderr, "there are: web")
}

func TestCredentialsOfOnesOwnReplaceSecrets(t *testing.T) {
	p, a := served(t, map[string]string{"seeds/web.yaml": webSeed})
	seed := a.seed("web")
	seed.Spec.Source.Credentials = "deploy"
	if err := a.Update(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	mustContain(t, p.kubectl(a, exitFailed, "plan web").stderr, "there is no Secret fleet/deploy. Create it, or correct its name")

	a.funcs.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, secret := o.(*corev1.Secret); secret {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("no"))
		}
		return c.Get(ctx, key, o, opts...)
	}
	mustContain(t, p.kubectl(a, exitFailed, "plan web").stderr, "Secret fleet/deploy may not be read", "--credentials or FURROW_CREDENTIALS")

	const token = "a-token-that-is-shown-nowhere"
	p.write("own/control-plane", map[string]string{"username": "ann", "password": token})
	r := p.kubectl(a, exitOK, "plan web --credentials "+p.at("own"))
	mustContain(t, r.stdout, "Seed web: 6 objects")
	mustNotContain(t, r.all(), token)
}
