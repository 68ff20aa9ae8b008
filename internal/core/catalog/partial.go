package catalog

import "io/fs"

// LoadInventory reads a control-plane tree without its seeds, which take most of the time,
// and what resources say of it, if there are any.
func (l Limits) LoadInventory(tree fs.FS, r *Resources) (*Catalog, error) {
	p := &Packages{docs: newDocuments(Reading{Limits: l})}
	if tree != nil {
		if err := p.docs.readInventory(tree); err != nil {
			return nil, unreadTree(err)
		}
	}
	if r != nil {
		p.Apply(*r)
	}
	return Assemble(p, nil), nil
}
