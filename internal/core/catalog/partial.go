package catalog

import "io/fs"

// LoadInventory reads a control-plane tree without its seeds, which take most of the time.
func (l Limits) LoadInventory(tree fs.FS) (*Catalog, error) {
	docs := newDocuments(l)
	if err := docs.readInventory(tree); err != nil {
		return nil, unreadTree(err)
	}
	return assemble(docs, nil), nil
}
