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

// The tiers of the seed in planting order: one on the management cluster, one on the site that depends on it, and one on
// the management cluster that depends on the site's.
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

// leaseHolds is the duration of a Lease that is neither renewed nor released.
const leaseHolds = 15 * time.Second

// takenOver limits the time without a leader: until the Lease expires and another replica notices, on a busy machine.
const takenOver = 3 * leaseHolds

// disturbedStory is a story of a controller that is disturbed in the middle of each rollout.
type disturbedStory struct {
	*hublessStory
	// undisturbed has the base branch after an undisturbed rollout, without the seed's text.
	undisturbed files
	// replicas counts the started replicas.
	replicas int
}

func TestAControllerRecoversFromDisturbances(t *testing.T) {
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
	s.step("the leader of two replicas is stopped", func() {
		standby = s.startReplica()
		s.rollout("succeeded", func(pull *sdk.PullRequest) {
			s.observer.await(s.story, pull)
			if took := s.mustTakeOver(func() { leader.end(syscall.SIGTERM) }); took > leaseHolds {
				s.t.Errorf("it took %s: the Lease was not released", took)
			}
		})
		leader = standby
	})
	s.step("the leader is suspended until another replica leads, and is resumed then", func() {
		standby = s.startReplica()
		s.rollout("doubled", func(pull *sdk.PullRequest) {
			s.observer.await(s.story, pull)
			s.mustTakeOver(func() { leader.signal(syscall.SIGSTOP) })
			s.merge(pull, sdk.MergeStyleSquash)
			leader.stepDown()
		})
		leader = standby
	})
	s.step("the API server of the management cluster is restarted", func() { s.rollout("restarted", s.restartAPIServer) })
	s.step("the forge rejects the token until there is another one", func() { s.rollout("refused", s.renewToken) })
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

// asResource adds the story's namespace to a document of a control plane.
func (s *story) asResource(document string) string {
	return strings.Replace(document, "metadata: {", "metadata: {namespace: "+s.namespace+", ", 1)
}

// replica is one of several controllers. It is started again when it ends by itself, for example because it could not renew
// its Lease in time, as a kubelet would do.
type replica struct {
	story *disturbedStory
	name  string

	mu      sync.Mutex
	process *process
	// over means that it is not started again.
	over bool
}

// startReplica starts one more replica, which ends with the test.
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
			_ = r.start() // if this fails, the story times out
		}
	}()
	return nil
}

// finish keeps the replica from being started again; first is true for the first call.
func (r *replica) finish() (p *process, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, r.over = !r.over, true
	return r.process, first
}

// end stops the replica for good.
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

// stepDown resumes a suspended replica, and waits until it ends by itself because it lost the Lease.
func (r *replica) stepDown() {
	s := r.story
	s.t.Helper()
	p, _ := r.finish()
	r.signal(syscall.SIGCONT)
	s.eventually(limit, "the replica that lost the Lease ends", func() (bool, string) { return p.ended(), lastLines(p.output(), 5) })
	if !strings.Contains(p.output(), "leader election lost") {
		s.t.Errorf("the log does not say why it ended:\n%s", lastLines(p.output(), 20))
	}
}

// holder returns the holder of the Lease, or nothing.
func (s *disturbedStory) holder() string {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: controllerNamespace, Name: controllerAccount}
	if err := s.world.mgmt.Client().Get(s.t.Context(), key, &lease); err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// mustTakeOver disturbs the leader, waits until another replica leads, and returns how long it took.
func (s *disturbedStory) mustTakeOver(disturb func()) time.Duration {
	s.t.Helper()
	before := s.holder()
	began := time.Now()
	disturb()
	s.eventually(limit, "the other replica leads", func() (bool, string) {
		now := s.holder()
		return now != "" && now != before, "the Lease is held by " + cmp.Or(now, "nobody")
	})
	took := time.Since(began)
	s.t.Logf("the other replica leads after %s", took.Round(10*time.Millisecond))
	if took > takenOver {
		s.t.Errorf("there was no leader for %s", took)
	}
	return took
}

// rollout updates all tiers of the seed. The disturbance happens while the pull request of the second tier is open, and may
// merge it.
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

// checkEnd checks that the result is that of an undisturbed rollout, without duplicates. known pull requests are older.
func (s *disturbedStory) checkEnd(text string, known int) {
	s.t.Helper()
	s.shows(
		"seed orders True Released 3/3 ", "planting orders.mgmt orders mgmt True 2/2", "planting orders.site orders site True 1/1",
	)
	var merged []string
	for _, pull := range s.pulls(sdk.StateAll)[known:] {
		if !pull.HasMerged {
			s.t.Errorf("#%d of %s is %s, not merged", pull.Index, tierOf(pull), pull.State)
		}
		merged = append(merged, tierOf(pull))
		s.mustNotRepeat(pull)
	}
	if want := []string{orders0, orders1, orders2}; !slices.Equal(merged, want) {
		s.t.Errorf("pull requests were opened for %v, not for %v", merged, want)
	}
	s.eventually(limit, "no branch is left over", func() (bool, string) {
		branches, err := listBranches(s.asPerson, s.gitops)
		slices.Sort(branches)
		return slices.Equal(branches, []string{"furrow/main/plan/orders", s.recordsBranch(), s.statusBranch(), "main"}), fmt.Sprint(branches, " ", err)
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
		s.t.Errorf("the base branch differs from that after an undisturbed rollout (-want +got):\n%s", d)
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

// mustNotRepeat fails if a pull request has the same comment twice.
func (s *disturbedStory) mustNotRepeat(pull *sdk.PullRequest) {
	s.t.Helper()
	comments, _, err := s.asPerson.ListIssueComments(s.gitops.owner, s.gitops.name, pull.Index, sdk.ListIssueCommentOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	said := map[string]bool{}
	for _, comment := range comments {
		if said[comment.Body] {
			s.t.Errorf("#%d of %s has a comment twice: %s", pull.Index, tierOf(pull), comment.Body)
		}
		said[comment.Body] = true
	}
}

// restartAPIServer merges the pull request while the API server is down.
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

// renewed is how soon the controller uses a new token, although it does not watch Secrets.
const renewed = 45 * time.Second

// renewToken revokes the controller's token, and gives it another one later.
func (s *disturbedStory) renewToken(pull *sdk.PullRequest) {
	s.t.Helper()
	ctx, gitea := s.t.Context(), s.world.gitea
	s.observer.await(s.story, pull)
	if err := gitea.RevokeToken(ctx, s.robot.name); err != nil {
		s.t.Fatal(err)
	}
	s.shows("seed orders … credentials")
	s.eventually(limit, "the GitOpsRepo reports that its forge rejects the token", func() (bool, string) {
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

// cutOff merges the pull request while the site is unreachable.
func (s *disturbedStory) cutOff(pull *sdk.PullRequest) {
	s.t.Helper()
	s.observer.await(s.story, pull)
	if err := s.site.Pause(); err != nil {
		s.t.Fatal(err)
	}
	s.merge(pull, sdk.MergeStyleSquash)
	s.awaitUnknown(orders1)
	s.shows("planting orders.site orders site False 0/1 00 Merged site tier 00: … cannot be asked", "seed orders False Merged 1/3")
	s.passes(3)
	s.mustNotOpen(orders2)
	if err := s.site.Resume(); err != nil {
		s.t.Fatal(err)
	}
}
