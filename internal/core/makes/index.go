package makes

// Index finds who makes a thing. The zero value has nothing.
type Index[V any] struct {
	exact map[Thing][]made[V]
	like  map[string][]made[V] // by kind
}

type made[V any] struct {
	Thing
	by V
}

// Add notes that somebody makes things.
func (x *Index[V]) Add(by V, things []Thing) {
	for _, t := range things {
		if t.Like {
			if x.like == nil {
				x.like = map[string][]made[V]{}
			}
			x.like[t.Kind] = append(x.like[t.Kind], made[V]{t, by})
			continue
		}
		if x.exact == nil {
			x.exact = map[Thing][]made[V]{}
		}
		key := Thing{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
		x.exact[key] = append(x.exact[key], made[V]{t, by})
	}
}

// MakersOf lists who makes a thing, in no order. Where there is such an object already, that is who fills it. What
// is known by its name comes before what is like it, and that before what is a guess.
func (x *Index[V]) MakersOf(kind, namespace, name string, known bool) []V {
	var found, guessed []V
	for _, m := range x.exact[Thing{Kind: kind, Namespace: namespace, Name: name}] {
		switch {
		case known && !m.Fills:
		case m.Guessed:
			guessed = append(guessed, m.by)
		default:
			found = append(found, m.by)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, m := range x.like[kind] {
		if (!known || m.Fills) && m.Is(namespace, name) {
			found = append(found, m.by)
		}
	}
	if len(found) > 0 {
		return found
	}
	return guessed
}
