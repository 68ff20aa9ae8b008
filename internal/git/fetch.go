package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/furrow-dev/furrow/internal/git/odb"
)

// mostHaves bounds the commits that a fetch names as present. A server sends what is not reachable
// from these. Branches of ours are a few commits on top of base, so naming more would cost the
// server more than it saves.
const mostHaves = 256

// Fetch brings the branch base and Furrow's branches, with all their history, and returns them as
// the server has them now. A branch that the server does not have is not among them; an empty
// repository has none. If nothing changed, only the list of branches is transferred.
//
// A mirror whose last removal was interrupted is emptied before it is filled further: a server is
// asked for what is missing by the commits that are here, and would not send what only such a
// commit lacks.
func (m *Mirror) Fetch(ctx context.Context, base string) (Refs, error) {
	if err := CheckRef(base); err != nil {
		return nil, err
	}
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	if err := m.hold(ctx); err != nil {
		return nil, err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if m.db.Interrupted() {
		if err := m.db.Empty(); err != nil {
			return nil, err
		}
	}
	m.Refresh()
	refs, err := m.fetch(ctx, base)
	if err != nil {
		return nil, m.remote.translate(ctx, "fetch from", err)
	}
	return refs, nil
}

// fetch downloads first and sets the refs afterwards, so a failure in between leaves the mirror as
// it was, with some objects that no ref reaches.
func (m *Mirror) fetch(ctx context.Context, base string) (Refs, error) {
	local, err := m.db.Refs()
	if err != nil {
		return nil, err
	}
	l, err := m.list(ctx)
	if err != nil {
		return nil, err
	}
	defer hangUp(ctx, &l.turns, l.session)
	refs, kept := sortRefs(l.adv, base, local)
	if wants := m.missing(refs); len(wants) > 0 {
		haves, contents := m.haves(base, local, refs), odb.Some
		if len(haves) == 0 {
			contents = odb.Complete // the server sends all that is reachable
		}
		if err := m.download(ctx, l, wants, haves, contents); err != nil {
			return nil, err
		}
	}
	maps.Copy(kept, refs)
	if err := m.db.SetRefs(kept); err != nil {
		return nil, err
	}
	return refs, nil
}

// listing is an upload-pack session that has received the server's refs and capabilities.
type listing struct {
	session transport.UploadPackSession
	adv     *packp.AdvRefs
	turns   turns
}

// list opens a session and reads the server's refs; an empty repository has none.
func (m *Mirror) list(ctx context.Context) (*listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &listing{}
	var err error
	if l.session, err = opened(ctx, m.remote, &l.turns, m.remote.transport.NewUploadPackSession); err != nil {
		return nil, err
	}
	l.adv, err = begin(ctx, m.remote, &l.turns, l.session.AdvertisedReferencesContext)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		l.adv, err = packp.NewAdvRefs(), nil
	}
	if err != nil {
		hangUp(ctx, &l.turns, l.session)
		return nil, err
	}
	return l, nil
}

// Branches lists the names of all branches that the server has, in order. Nothing is fetched.
func (m *Mirror) Branches(ctx context.Context) ([]string, error) {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	l, err := m.list(ctx)
	if err != nil {
		return nil, m.remote.translate(ctx, "list the branches of", err)
	}
	defer hangUp(ctx, &l.turns, l.session)
	var names []string
	for full := range l.adv.References {
		if name, ok := strings.CutPrefix(full, odb.HeadsPrefix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// sortRefs returns the advertised refs that are fetched, and those of earlier fetches of other base
// branches that still hold. Several control planes may share a mirror with a base branch each; one
// of them must not drop the other's. A branch that moved, and is not fetched now, is dropped: its
// new commit is not here.
func sortRefs(adv *packp.AdvRefs, base string, local Refs) (refs, kept Refs) {
	refs, kept = Refs{}, Refs{}
	for full, hash := range adv.References {
		name, ok := strings.CutPrefix(full, odb.HeadsPrefix)
		switch {
		case !ok:
		case name == base || strings.HasPrefix(name, BranchPrefix):
			refs[name] = Hash(hash)
		case local[name] == Hash(hash):
			kept[name] = Hash(hash)
		}
	}
	return refs, kept
}

// missing lists the commits that are not here, each once, in no order. A commit that is here is
// here with all that it reaches, but for blobs; see package odb.
func (m *Mirror) missing(refs Refs) []Hash {
	wants := map[Hash]bool{}
	for _, hash := range refs {
		if !wants[hash] && !m.Has(hash) {
			wants[hash] = true
		}
	}
	return slices.Collect(maps.Keys(wants))
}

// haves lists commits that the server need not send, by how likely something new is on top of them:
// base, then branches that changed, then the others.
func (m *Mirror) haves(base string, local, refs Refs) []Hash {
	var haves, same []Hash
	if hash, ok := local[base]; ok {
		haves = append(haves, hash)
	}
	for name, hash := range local {
		switch {
		case name == base:
		case refs[name] == hash:
			same = append(same, hash)
		default:
			haves = append(haves, hash)
		}
	}
	haves = append(haves, same...)
	return haves[:min(len(haves), mostHaves)]
}

// blobless reports whether the server can leave blobs out and send them one by one later. Both are
// needed: a mirror without blobs that cannot fetch them would be useless. Most of a GitOps
// repository is never read: grafts need trees only.
func (l *listing) blobless() bool {
	return l.adv.Capabilities.Supports(capability.Filter) && l.adv.Capabilities.Supports(capability.AllowReachableSHA1InWant)
}

// download asks for wants and streams the answer into the store. Unless contents says that blobs
// are wanted, it asks for none, if the server can leave them out (blobless): a pass needs trees and
// few blobs, and the blobs of a large repository are most of it.
func (m *Mirror) download(ctx context.Context, l *listing, wants, haves []Hash, contents odb.Contents) error {
	request := packp.NewUploadPackRequestFromCapabilities(l.adv.Capabilities)
	request.Wants, request.Haves = plain(wants), plain(haves)
	if l.adv.Capabilities.Supports(capability.NoProgress) {
		if err := request.Capabilities.Set(capability.NoProgress); err != nil {
			return err
		}
	}
	if contents != odb.Blobs && l.blobless() {
		if err := request.Capabilities.Set(capability.Filter); err != nil {
			return err
		}
		request.Filter = packp.FilterBlobNone()
	}
	response, err := within(ctx, &l.turns, func() (*packp.UploadPackResponse, error) { return l.session.UploadPack(ctx, request) })
	if err != nil {
		return err
	}
	defer hangUp(ctx, &l.turns, response)
	if err := m.db.AddPack(demultiplex(request.Capabilities, response), contents); err != nil {
		return fmt.Errorf("receive objects: %w", err)
	}
	return nil
}

// demultiplex returns the pack without the progress messages that a server may send between its
// parts.
func demultiplex(caps *capability.List, r io.Reader) io.Reader {
	switch {
	case caps.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case caps.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

func plain(hashes []Hash) []plumbing.Hash {
	out := make([]plumbing.Hash, len(hashes))
	for i, hash := range hashes {
		out[i] = plumbing.Hash(hash)
	}
	return slices.Clip(out)
}
