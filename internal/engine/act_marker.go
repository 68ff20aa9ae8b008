package engine

import (
	"cmp"

	"github.com/furrow-dev/furrow/internal/core/pass"
)

// moveToPlan moves a marker to the seed's plan. Who asked stays known.
func (s *repoActor) moveToPlan(a *pass.Action) error {
	at := s.plan(a.Seed)
	if at == a.Old || at == s.repo.facts.Asked(a.Branch) {
		return nil
	}
	by := s.person
	by.Name = cmp.Or(s.repo.facts.AskedBy(a.Branch), by.Name)
	move, err := s.repo.request(a.Branch, at, by)
	if err == nil {
		s.updates = append(s.updates, update{Update: move, action: a})
	}
	return err
}
