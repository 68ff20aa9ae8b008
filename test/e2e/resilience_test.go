package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/soak"

	sdk "code.gitea.io/sdk/gitea"
	diff "github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The tiers of the seed in the order in which they come: the site's waits for one of the management cluster, and another
// one there waits for the site's.
const (
	orders0, orders1, orders2 = "orders/mgmt/00", "orders/site/00", "orders/mgmt/01"
)

// ordersSeed has the same text in each of its tiers.
const ordersSeed = `apiVersion: v1
kind: ConfigMap
metadata:
  name: order
  namespace: NAMESPACE
  annotations: {furrow.dev/cluster: mgmt}
data: {text: TEXT}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: report
  namespace: default
  annotations:
    furrow.dev/cluster: site
    furrow.dev/depends-on: core/ConfigMap/NAMESPACE/order
data: {text: TEXT}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: receipt
  namespace: NAMESPACE
  annotations:
    furrow.dev/cluster: mgmt
    furrow.dev/depends-on: core/ConfigMap/default/report
data: {text: TEXT}
`

// leaseHolds is how long a Lease holds that is neither renewed nor given back.
const leaseHolds = 15 * time.Second

// takenOver bounds how long nobody leads: until the Lease has run out and another replica has looked, on a busy machine.
const takenOver = 3 * leaseHolds

// disturbedStory is a story of a controller to which something happens in the middle of each rollout.
type disturbedStory struct {
	*hublessStory
	// undisturbed is what is on the base branch after a rollout to which nothing happened, without its text.
	undisturbed files
	// replicas counts those that were started.
	replicas int
}

func TestAControllerThatIsDisturbedCarriesOn(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	s := &disturbedStory{hublessStory: newHublessStory(t, "disturbed", throughController, withItsOwnManagement)}
	s.controller.elects = true
	s.startSite()
	var leader, standby *replica

	s.step("nothing happens", func() {
		leader = s.startReplica()
		s.eventually(limit, "the first replica leads", func() (bool, string) { return s.holder() != "", "" })
		s.declare()
		s.rollout("calm", func(*sdk.PullRequest) {})
	})
	s.step("the controller is killed, and started again", func() {
		s.rollout("killed", func(pull *sdk.PullRequest) {
			s.observer.await(s.story, pull)
			leader.end(syscall.SIGKILL)
			s.merge(pull, sdk.MergeStyleSquash)
			leader = s.startReplica()
		})
	})
	s.step("the leader of two replicas is killed", func() {
		standby = s.startReplica()
		s.rollout("bereft", func(pull *sdk.PullRequest) {
			s.observer.await(s.story, pull)
			s.mustTakeOver(func() { leader.end(syscall.SIGKILL) })
		})
		leader = standby
	})
	s.step("the leader of two replicas ends", func() {
		standby = s.startReplica()
		s.rollout("succeeded", func(pull *sdk.PullRequest) {
			s.observer.await(s.story, pull)
			if took := s.mustTakeOver(func() { leader.end(syscall.SIGTERM) }); took > leaseHolds {
				s.t.Errorf("it took %s: the Lease was not given back", took)
			}
		})
		leader = standby
	})
	s.step("the leader stands still until another one leads, and goes on then", func() {
		standby = s.startReplica()
		s.rollout("doubled", func(pull *sdk.PullRequest) {
			s.observer.await(s.story, pull)
			s.mustTakeOver(func() { leader.signal(syscall.SIGSTOP) })
			s.merge(pull, sdk.MergeStyleSquash)
			leader.standBack()
		})
		leader = standby
	})
	s.step("the API server of the management cluster is started again", func() { s.rollout("restarted", s.restartAPIServer) })
	s.step("the forge refuses the token until there is another one", func() { s.rollout("refused", s.renewToken) })
	s.step("the site is cut off for a while", func() { s.rollout("severed", s.cutOff) })
	leader.end(syscall.SIGTERM)
}

// declare describes the fleet: the repository and the site as resources, the rest in the control plane.
func (s *disturbedStory) declare() {
	fleet := s.fleet()
	s.apply(s.asResource(fleet["fleet/gitops-repo.yaml"]) + "---\n" + s.asResource(siteCluster))
	delete(fleet, "fleet/gitops-repo.yaml")
	s.commit("Describe the fleet", fleet)
}

// asResource puts a document of a control plane into the story's namespace.
func (s *story) asResource(document string) string {
	return strings.Replace(document, "metadata: {", "metadata: {namespace: "+s.namespace+", ", 1)
}

// replica is one of several controllers. A kubelet would start it again when it has ended by itself, as it does when it
// cannot renew its Lease in time; so does this.
type replica struct {
	story *disturbedStory
	name  string

	mu      sync.Mutex
	process *process
	// over says that it is ended for good.
	over bool
}

// startReplica starts one more replica, which is ended with the test.
func (s *disturbedStory) startReplica() *replica {
	s.t.Helper()
	s.replicas++
	r := &replica{story: s, name: fmt.Sprintf("replica-%d", s.replicas)}
	if err := r.start(); err != nil {
		s.t.Fatal(err)
	}
	s.whole.Cleanup(func() {
		if p, first := r.finish(); first && !p.ended() {
			_ = p.end(syscall.SIGKILL)
		}
	})
	return r
}

// start starts it, and again whenever it has ended by itself.
func (r *replica) start() error {
	p, err := r.story.spawn(r.name)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.process = p
	r.mu.Unlock()
	r.story.follow(p)
	go func() {
		<-p.done
		r.mu.Lock()
		over := r.over
		r.mu.Unlock()
		if !over {
			_ = r.start() // what comes of it is seen by what does not happen
		}
	}()
	return nil
}

// finish says that the replica is to be started no more; first that it was to be until now.
func (r *replica) finish() (p *process, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, r.over = !r.over, true
	return r.process, first
}

// end ends the replica for good.
func (r *replica) end(signal syscall.Signal) {
	r.story.t.Helper()
	p, _ := r.finish()
	r.story.endProcess(p, signal)
}

func (r *replica) signal(signal syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.process.cmd.Process.Signal(signal); err != nil {
		r.story.t.Errorf("%s: %v", signal, err)
	}
}

// standBack lets a replica that stood still go on, and waits until it has ended by itself, for it lost the Lease.
func (r *replica) standBack() {
	s := r.story
	s.t.Helper()
	p, _ := r.finish()
	r.signal(syscall.SIGCONT)
	s.eventually(limit, "who lost the Lease stands back", func() (bool, string) { return p.ended(), lastLines(p.output(), 5) })
	if !strings.Contains(p.output(), "leader election lost") {
		s.t.Errorf("it is not told why it ended:\n%s", lastLines(p.output(), 20))
	}
}

// holder is who holds the Lease; empty while nobody does.
func (s *disturbedStory) holder() string {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: controllerNamespace, Name: controllerAccount}
	if err := s.world.mgmt.Client().Get(s.t.Context(), key, &lease); err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// mustTakeOver waits until another replica leads, after something has become of the leader, and says how long it took.
func (s *disturbedStory) mustTakeOver(become func()) time.Duration {
	s.t.Helper()
	before := s.holder()
	began := time.Now()
	become()
	s.eventually(limit, "the other replica leads", func() (bool, string) {
		now := s.holder()
		return now != "" && now != before, "the Lease is held by " + cmp.Or(now, "nobody")
	})
	took := time.Since(began)
	s.t.Logf("the other replica leads after %s", took.Round(10*time.Millisecond))
	if took > takenOver {
		s.t.Errorf("nobody led for %s", took)
	}
	return took
}

// rollout updates all tiers of the seed. Something happens while the pull request of the second one is open, which may be
// merged by whatever happens.
func (s *disturbedStory) rollout(text string, happens func(*sdk.PullRequest)) {
	s.t.Helper()
	known := len(s.pulls(sdk.StateAll))
	s.commit("Orders: "+text, files{"seeds/orders.yaml": strings.NewReplacer("NAMESPACE", s.namespace, "TEXT", text).Replace(ordersSeed)})
	s.release(orders0, sdk.MergeStyleSquash)
	pull := s.awaitPull(orders1)
	happens(pull)
	if is, _, err := s.asPerson.GetPullRequest(s.gitops.owner, s.gitops.name, pull.Index); err != nil {
		s.t.Fatal(err)
	} else if !is.HasMerged {
		s.merge(is, sdk.MergeStyleSquash)
	}
	s.awaitState(orders1, "Released")
	s.release(orders2, sdk.MergeStyleSquash)
	s.awaitReleased()
	s.passes(2)
	s.checkEnd(text, known)
}

// checkEnd checks that all is there, once, as after a rollout to which nothing happened. known pull requests are from before.
func (s *disturbedStory) checkEnd(text string, known int) {
	s.t.Helper()
	s.shows(
		"seed orders True Released 3/3 ", "planting orders.mgmt orders mgmt True 2/2", "planting orders.site orders site True 1/1",
	)
	var merged []string
	for _, pull := range s.pulls(sdk.StateAll)[known:] {
		if !pull.HasMerged {
			s.t.Errorf("#%d of %s is %s and not merged", pull.Index, tierOf(pull), pull.State)
		}
		merged = append(merged, tierOf(pull))
		s.mustNotRepeat(pull)
	}
	if want := []string{orders0, orders1, orders2}; !slices.Equal(merged, want) {
		s.t.Errorf("pull requests were opened of %v, not of %v", merged, want)
	}
	s.eventually(limit, "no branch is left over", func() (bool, string) {
		branches, err := listBranches(s.asPerson, s.gitops)
		slices.Sort(branches)
		return slices.Equal(branches, []string{"furrow/main/plan/orders", s.statusBranch(), "main"}), fmt.Sprint(branches, " ", err)
	})
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	base, err := s.readBase()
	if err != nil {
		s.t.Fatal(err)
	}
	for path, content := range base {
		base[path] = strings.ReplaceAll(content, "text: "+text, "text: TEXT")
	}
	if s.undisturbed == nil {
		s.undisturbed = base
	}
	if d := diff.Diff(s.undisturbed, base); d != "" {
		s.t.Errorf("the base branch is not as after a rollout to which nothing happened (-want +got):\n%s", d)
	}
	for _, of := range []struct {
		reader          client.Client
		namespace, name string
	}{{s.world.mgmt.Client(), s.namespace, "order"}, {s.site.Client(), "default", "report"}, {s.world.mgmt.Client(), s.namespace, "receipt"}} {
		var object corev1.ConfigMap
		if err := of.reader.Get(s.t.Context(), client.ObjectKey{Namespace: of.namespace, Name: of.name}, &object); err != nil || object.Data["text"] != text {
			s.t.Errorf("%s says %v, not %q (%v)", of.name, object.Data, text, err)
		}
	}
}

// mustNotRepeat fails when something is said twice on a pull request.
func (s *disturbedStory) mustNotRepeat(pull *sdk.PullRequest) {
	s.t.Helper()
	comments, _, err := s.asPerson.ListIssueComments(s.gitops.owner, s.gitops.name, pull.Index, sdk.ListIssueCommentOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	said := map[string]bool{}
	for _, comment := range comments {
		if said[comment.Body] {
			s.t.Errorf("#%d of %s is told twice: %s", pull.Index, tierOf(pull), comment.Body)
		}
		said[comment.Body] = true
	}
}

// restartAPIServer merges the pull request while the API server is away.
func (s *disturbedStory) restartAPIServer(pull *sdk.PullRequest) {
	s.t.Helper()
	s.observer.await(s.story, pull)
	if err := s.world.mgmt.StopAPIServer(); err != nil {
		s.t.Fatal(err)
	}
	s.merge(pull, sdk.MergeStyleSquash)
	s.startsFrom = time.Now()
	if err := s.world.mgmt.StartAPIServer(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.startedAt = time.Now()
}

// renewed is how soon the controller makes use of a new token, although nobody tells it of one.
const renewed = 45 * time.Second

// renewToken takes the token away by which the controller signs in, and gives it another one later.
func (s *disturbedStory) renewToken(pull *sdk.PullRequest) {
	s.t.Helper()
	ctx, gitea := s.t.Context(), s.world.gitea
	s.observer.await(s.story, pull)
	if err := gitea.RevokeToken(ctx, s.robot.name); err != nil {
		s.t.Fatal(err)
	}
	s.shows("seed orders … credentials")
	s.eventually(limit, "the GitOpsRepo says that its forge refuses us", func() (bool, string) {
		output, err := s.tryKubectl("get", "gitopsrepos")
		return err == nil && strings.Contains(output, "False") && strings.Contains(output, "credentials"), output
	})
	s.t.Logf("people see:\n%s%s", s.kubectl("get", "gitopsrepos"), s.kubectl("get", "seeds,plantings"))
	s.merge(pull, sdk.MergeStyleSquash)
	token, err := gitea.CreateToken(ctx, s.robot.name)
	if err != nil {
		s.t.Fatal(err)
	}
	began := time.Now()
	err = errors.Join(s.putCredentials(ctx, "control-plane", s.controlPlane.url, token), s.putCredentials(ctx, "gitops", s.gitops.url, token))
	if err != nil {
		s.t.Fatal(err)
	}
	s.eventually(renewed, "the GitOpsRepo is ready again", func() (bool, string) {
		output, err := s.tryKubectl("get", "gitopsrepos")
		return err == nil && strings.Contains(output, "True"), output
	})
	s.t.Logf("the new token is used after %s", time.Since(began).Round(10*time.Millisecond))
}

// cutOff merges the pull request while nothing of the site answers.
func (s *disturbedStory) cutOff(pull *sdk.PullRequest) {
	s.t.Helper()
	s.observer.await(s.story, pull)
	if err := s.site.Pause(); err != nil {
		s.t.Fatal(err)
	}
	s.merge(pull, sdk.MergeStyleSquash)
	s.awaitUnknown(orders1)
	s.shows("planting orders.site orders site False 0/1 00 Merged site tier 00: … could not be asked", "seed orders False Merged 1/3")
	s.passes(3)
	s.mustNotOpen(orders2)
	if err := s.site.Resume(); err != nil {
		s.t.Fatal(err)
	}
}
