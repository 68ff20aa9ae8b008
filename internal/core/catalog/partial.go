package catalog

import "io/fs"

// LoadInventory reads a control-plane tree without its seeds, which take most of the time.
func LoadInventory(tree fs.FS) (*Catalog, error) {
	docs := newDocuments()
	if err := docs.readInventory(tree); err != nil {
		return nil, err
	}
	return assemble(docs, nil), nil
}
