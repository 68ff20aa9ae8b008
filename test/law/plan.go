package law

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// planned is a stack with its plan, as furrow plan --out writes it.
type planned struct {
	stack   stack
	objects []*object
	// waits are the hard and weak dependencies between the objects.
	waits []wait
	// creates maps each cluster that an object creates to that object.
	creates map[string]*object
}

// object is one object on one cluster.
type object struct {
	seed, cluster, id string
	ordinal, level    int
	// order is the object's position in its package.
	order int
	body  *unstructured.Unstructured
}

func (o *object) String() string { return o.id + " on " + o.cluster }

// wait says that from cannot be declared before to is ready.
type wait struct {
	from, to  *object
	rule, why string
	ready     string
	// weak reports whether both may share a tier.
	weak bool
}

// planFile is plan.yaml, as far as it is read here.
type planFile struct {
	Tiers []struct {
		Cluster        string
		Ordinal, Level int
		Entries        []struct{ Path, Mode string }
		Contents       string
		Creates        []struct{ Cluster, Object string }
	}
	Contents []struct {
		ID      string
		Objects []struct{ ID, File, From string }
	}
	Dependencies []struct {
		From struct {
			Object   string
			Clusters []string
		}
		To               struct{ Seed, Object, Cluster string }
		Kind             string
		Rule, Why, Ready string
	}
	Parts []string
}

// plan writes the stack's control plane to dir and plans it with furrow.
func (b *builder) plan(ctx context.Context, furrow string, s stack, dir string) (*planned, error) {
	tree, out := filepath.Join(dir, "control-plane"), filepath.Join(dir, "plan")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tree, "clusters.yaml"), []byte(s.clusters), 0o644); err != nil {
		return nil, err
	}
	for _, p := range s.packs {
		if err := b.make(ctx, p, filepath.Join(tree, "seeds", p.name)); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, furrow, "plan", "--control-plane", tree, "--out", out)
	cmd.Env = []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH")}
	if output, err := cmd.CombinedOutput(); err != nil {
		var why []string
		for line := range strings.Lines(string(output)) {
			if strings.HasPrefix(strings.TrimSpace(line), "error:") {
				why = append(why, line)
			}
		}
		return nil, fmt.Errorf("furrow plan: %w\n%s", err, strings.Join(why, ""))
	}
	return readPlans(s, out)
}

// readPlans reads the plans of all seeds of a stack.
func readPlans(s stack, out string) (*planned, error) {
	p := &planned{stack: s, creates: map[string]*object{}}
	found := map[[3]string]*object{}
	plans := make([]planFile, len(s.packs))
	for i, pack := range s.packs {
		content, err := os.ReadFile(filepath.Join(out, pack.name, "plan.yaml"))
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(content, &plans[i]); err != nil {
			return nil, fmt.Errorf("read the plan of %s: %w", pack.name, err)
		}
		if len(plans[i].Parts) > 0 {
			return nil, fmt.Errorf("the plan of %s has several files", pack.name)
		}
		if err := p.addTiers(filepath.Join(out, pack.name), pack.name, plans[i], found); err != nil {
			return nil, err
		}
	}
	for i, pack := range s.packs {
		if err := p.addWaits(pack.name, plans[i], found); err != nil {
			return nil, err
		}
	}
	if len(p.objects) == 0 {
		return nil, errors.New("the plan has no objects")
	}
	return p, nil
}

func (p *planned) addTiers(dir, seed string, plan planFile, found map[[3]string]*object) error {
	for _, tier := range plan.Tiers {
		i := slices.IndexFunc(plan.Contents, func(c struct {
			ID      string
			Objects []struct{ ID, File, From string }
		}) bool {
			return c.ID == tier.Contents
		})
		if i < 0 || len(tier.Entries) == 0 {
			return fmt.Errorf("tier %d of %s on %s has no objects", tier.Ordinal, seed, tier.Cluster)
		}
		for _, listed := range plan.Contents[i].Objects {
			content, err := os.ReadFile(filepath.Join(dir, tier.Entries[0].Path, listed.File))
			if err != nil {
				return err
			}
			o := &object{seed: seed, cluster: tier.Cluster, id: listed.ID, ordinal: tier.Ordinal, level: tier.Level, body: &unstructured.Unstructured{}}
			if err := yaml.Unmarshal(content, &o.body.Object); err != nil {
				return fmt.Errorf("read %s: %w", listed.File, err)
			}
			_, line, _ := strings.Cut(listed.From, ".yaml:")
			_, _ = fmt.Sscan(line, &o.order)
			p.objects = append(p.objects, o)
			found[[3]string{seed, tier.Cluster, listed.ID}] = o
		}
		for _, c := range tier.Creates {
			p.creates[c.Cluster] = found[[3]string{seed, tier.Cluster, c.Object}]
		}
	}
	return nil
}

func (p *planned) addWaits(seed string, plan planFile, found map[[3]string]*object) error {
	for _, d := range plan.Dependencies {
		if d.Kind == "Soft" {
			continue
		}
		for _, cluster := range d.From.Clusters {
			toSeed, toCluster := seed, cluster
			if d.To.Seed != "" {
				toSeed = d.To.Seed
			}
			if d.To.Cluster != "" {
				toCluster = d.To.Cluster
			}
			from, to := found[[3]string{seed, cluster, d.From.Object}], found[[3]string{toSeed, toCluster, d.To.Object}]
			if from == nil || to == nil {
				return fmt.Errorf("%s of %s waits for %s of %s on %s, which is in no tier", d.From.Object, seed, d.To.Object, toSeed, toCluster)
			}
			p.waits = append(p.waits, wait{from, to, d.Rule, d.Why, d.Ready, d.Kind == "Weak"})
		}
	}
	return nil
}

// clusters lists the clusters that get objects.
func (p *planned) clusters() []string {
	var names []string
	for _, o := range p.objects {
		if !slices.Contains(names, o.cluster) {
			names = append(names, o.cluster)
		}
	}
	slices.Sort(names)
	return names
}

// levels returns the objects of each level, lowest first.
func (p *planned) levels() [][]*object {
	by := map[int][]*object{}
	var levels []int
	for _, o := range p.objects {
		if by[o.level] == nil {
			levels = append(levels, o.level)
		}
		by[o.level] = append(by[o.level], o)
	}
	slices.Sort(levels)
	out := make([][]*object, len(levels))
	for i, level := range levels {
		out[i] = by[level]
	}
	return out
}
