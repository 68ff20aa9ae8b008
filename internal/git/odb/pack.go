package odb

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" // a pack's checksum is SHA-1.
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// mostDepth bounds the deltas that lead to an object, as Git does.
const mostDepth = 50

// delta is an object as its difference from another, the base, as instructions in Git's format:
// copy bytes from the base, or insert these.
type delta struct {
	base Hash
	ops  []byte
}

// keepDelta remembers a tree as its difference from the tree it was made from. A grafted tree
// differs in one entry, so a push of a thousand branches sends a few hundred bytes a branch rather
// than a thousand copies of the largest directory. A difference of more than half of the tree is
// not worth a search for its base. What is forgotten costs bytes in a push, nothing else.
func (s *store) keepDelta(hash, base Hash, before, after string) {
	ops := deltaOps(before, after)
	if len(ops)*2 > len(after) {
		return
	}
	s.deltas.put(hash, delta{base, ops}, 1)
}

// deltaOps writes after as: what it begins with in common with before, the difference, what it ends
// with in common with before. It is linear, and as good as a search for one change at one position,
// which is what a graft does to a tree; see smallDelta for the rest.
func deltaOps[T string | []byte](before, after T) []byte {
	prefix := 0
	for prefix < len(before) && prefix < len(after) && before[prefix] == after[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < len(before)-prefix && suffix < len(after)-prefix && before[len(before)-1-suffix] == after[len(after)-1-suffix] {
		suffix++
	}
	ops := binary.AppendUvarint(nil, uint64(len(before)))
	ops = binary.AppendUvarint(ops, uint64(len(after)))
	ops = appendCopy(ops, 0, prefix)
	for middle := after[prefix : len(after)-suffix]; len(middle) > 0; {
		n := min(len(middle), 127)
		ops = append(append(ops, byte(n)), middle[:n]...)
		middle = middle[n:]
	}
	return appendCopy(ops, len(before)-suffix, suffix)
}

// appendCopy writes instructions that copy size bytes from offset of the base; one instruction
// copies less than 64 KiB.
func appendCopy(ops []byte, offset, size int) []byte {
	for size > 0 {
		n := min(size, 0xffff)
		at := len(ops)
		ops = append(ops, 0x80)
		for i := range 4 {
			if b := byte(offset >> (8 * i)); b != 0 {
				ops[at] |= 1 << i
				ops = append(ops, b)
			}
		}
		for i := range 2 {
			if b := byte(n >> (8 * i)); b != 0 {
				ops[at] |= 0x10 << i
				ops = append(ops, b)
			}
		}
		offset, size = offset+n, size-n
	}
	return ops
}

// packWriter writes a pack, entry by entry, and indexes it. It does not use go-git's encoder, which
// searches for deltas itself, and holds all objects of a pack in memory for that. Here the caller
// knows which objects differ little.
//
// Invariant: every base of a delta that delta writes is earlier in the pack, so no chain has a
// cycle, and depth counts the deltas between an object and a whole one.
//
// The first failure stays in err, so a caller may write on and check at the end.
type packWriter struct {
	out   io.Writer
	sum   hash.Hash
	crc   hash.Hash32
	zlib  *zlib.Writer
	size  int64
	err   error
	index idxfile.Writer
	// written has the objects of this pack, from which later ones may differ.
	written map[Hash]written
}

// written is where an object begins in a pack, and how many deltas lead to it.
type written struct {
	offset int64
	depth  int
}

// newPackWriter begins a pack of so many objects.
func newPackWriter(out io.Writer, objects, level int) *packWriter {
	w := &packWriter{out: out, sum: sha1.New(), crc: crc32.NewIEEE(), written: make(map[Hash]written, objects)}
	w.zlib, w.err = zlib.NewWriterLevel(io.Discard, level)
	_ = w.index.OnHeader(uint32(objects))
	_, _ = w.Write(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(objects)))
	return w
}

// Write adds to the pack. The first failure stays.
func (w *packWriter) Write(p []byte) (int, error) {
	if w.err == nil {
		_, w.err = w.out.Write(p)
	}
	_, _ = w.sum.Write(p)
	_, _ = w.crc.Write(p)
	w.size += int64(len(p))
	return len(p), w.err
}

// object writes an object as a whole.
func (w *packWriter) object(hash Hash, object encoded) {
	w.entry(hash, object.typ, nil, object.content, 0)
}

// thinDelta writes how an object differs from one that the receiver has.
func (w *packWriter) thinDelta(hash Hash, d delta) {
	w.entry(hash, plumbing.REFDeltaObject, d.base[:], d.ops, 0)
}

// delta writes how an object differs from one that is earlier in the same pack. It writes nothing,
// and returns false, if the base is not in the pack, or too many deltas would lead to the object:
// each of them is applied for every read of it.
func (w *packWriter) delta(hash Hash, d delta) (ok bool) {
	base, ok := w.written[d.base]
	if !ok || base.depth >= mostDepth {
		return false
	}
	w.entry(hash, plumbing.OFSDeltaObject, distance(w.size-base.offset), d.ops, base.depth+1)
	return true
}

// distance encodes how far before an entry its base begins, in Git's format for offsets: seven bits
// a byte, the most significant first, where each byte but the last counts from one. So no number
// has two encodings.
func distance(n int64) []byte {
	out := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		out = append([]byte{0x80 | byte(n&0x7f)}, out...)
	}
	return out
}

// entry writes a header (type, and size in groups of 4, 7, 7 … bits, the least significant first),
// what names the base of a delta, and the compressed content. The index has a checksum of the raw
// bytes, for which crc starts anew with each entry.
func (w *packWriter) entry(hash Hash, typ plumbing.ObjectType, base, content []byte, depth int) {
	offset, size := w.size, len(content)
	w.crc.Reset()
	header := []byte{byte(typ)<<4 | byte(size&0x0f)}
	for size >>= 4; size > 0; size >>= 7 {
		header[len(header)-1] |= 0x80
		header = append(header, byte(size&0x7f))
	}
	_, _ = w.Write(append(header, base...))
	w.zlib.Reset(w)
	_, _ = w.zlib.Write(content)
	if err := w.zlib.Close(); w.err == nil {
		w.err = err
	}
	w.index.Add(plumbing.Hash(hash), uint64(offset), w.crc.Sum32())
	w.written[hash] = written{offset, depth}
}

// finish ends the pack, and gives its checksum and its index.
func (w *packWriter) finish() (Hash, *idxfile.MemoryIndex, error) {
	checksum := Hash(w.sum.Sum(nil))
	_, _ = w.Write(checksum[:])
	if w.err != nil {
		return Hash{}, nil, w.err
	}
	if err := w.index.OnFooter(plumbing.Hash(checksum)); err != nil {
		return Hash{}, nil, err
	}
	index, err := w.index.Index()
	return checksum, index, err
}

// EncodePack makes a pack of objects, each once, in memory. With thin, a tree that was built from
// another goes as a difference from it, in the pack or not: the receiver must have the trees of the
// commits that were built on.
func (o *Objects) EncodePack(objects []Hash, thin bool) (io.Reader, error) {
	unique := newObjectList()
	for _, hash := range objects {
		unique.add(hash)
	}
	var buf bytes.Buffer
	w := newPackWriter(&buf, len(unique.list), zlib.DefaultCompression)
	for _, hash := range unique.list {
		if d, ok := o.store.deltas.get(hash); ok && thin {
			w.thinDelta(hash, d)
			continue
		}
		typ, content, err := o.read(hash)
		if err != nil {
			return nil, err
		}
		w.object(hash, encoded{typ, content})
	}
	_, _, err := w.finish()
	return &buf, err
}

// writePack writes a pack of so many objects, and adds it to the list. fill must write exactly that
// many.
//
// The index gets its name before the pack does, and nobody reads an index without its pack. So the
// rename of the pack is the moment at which all of its objects exist. It is listed only after the
// directory is synced; see kept.
func (s *store) writePack(disk disk, objects, level int, fill func(*packWriter) error) (name string, err error) {
	var index *idxfile.MemoryIndex
	err = disk.create(packDir, "tmp_pack_", func(file io.Writer) (string, error) {
		buffered := bufio.NewWriterSize(file, 64<<10)
		w := newPackWriter(buffered, objects, level)
		if err := fill(w); err != nil {
			return "", err
		}
		var checksum Hash
		if checksum, index, err = w.finish(); err != nil {
			return "", err
		}
		if err := buffered.Flush(); err != nil {
			return "", err
		}
		name = packName(checksum)
		return name, disk.create(packDir, "tmp_idx_", func(file io.Writer) (string, error) {
			buffered := bufio.NewWriterSize(file, 64<<10)
			_, err := idxfile.NewEncoder(buffered).Encode(index)
			if err == nil {
				err = buffered.Flush()
			}
			return indexName(name), err
		})
	})
	if err == nil {
		err = disk.syncDir(packDir)
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs.add(name, index)
	return name, nil
}

const (
	// headDepth bounds the deltas that lead to the first of a list of versions, so there is
	// room for the others.
	headDepth = 10
	// mostHeads is with how many others such a first one is compared.
	mostHeads = 4
)

// versions writes lists of objects that are likely much alike, such as a file in commit after
// commit: each as its difference from the one before, and the first as its difference from that of
// another list, such as of the file beside it, if that is small.
//
// Since the lists come from the paths of a commit, nothing has to be searched: git gc instead
// compares each object with a window of others of similar name and size. The packs are about as
// small, see TestCollectedSizeIsCloseToThatOfGit, and cost is linear in the size of what is packed.
//
// The newest version comes first, so what is read most has the fewest deltas to apply.
type versions struct {
	pack *packWriter
	// heads are the first objects of the last lists.
	heads []version
	// before is the last object that was written, and anchor the last one at which a chain of
	// deltas began.
	before, anchor version
}

// version is an object that others of its path may be written as differences of.
type version struct {
	hash Hash
	encoded
}

// write writes the next of a list. A chain that has reached mostDepth is not begun anew with a
// whole object: the next one is a difference from the anchor, the first of the present chain, and
// becomes the anchor of the next. So a list of a thousand versions needs few whole ones, and no
// chain is longer than mostDepth.
func (v *versions) write(next version, first bool) {
	switch {
	case first:
		v.writeFrom(next, headDepth, v.heads...)
		v.heads = append(v.heads, next)[max(0, len(v.heads)+1-mostHeads):]
		v.anchor = next
	case v.pack.written[v.before.hash].depth < mostDepth:
		v.writeFrom(next, mostDepth, v.before)
	default:
		v.writeFrom(next, mostDepth, v.anchor)
		v.anchor = next
	}
	v.before = next
}

// writeFrom writes an object as its difference from the base from which it differs least, or as a
// whole.
func (v *versions) writeFrom(next version, depth int, bases ...version) {
	var best delta
	most := len(next.content) * 3 / 4
	for _, base := range bases {
		if base.typ != next.typ || v.pack.written[base.hash].depth >= depth {
			continue
		}
		if ops := smallDelta(base.content, next.content); len(ops) < most {
			best, most = delta{base.hash, ops}, len(ops)
		}
	}
	if best.ops == nil || !v.pack.delta(next.hash, best) {
		v.pack.object(next.hash, next.encoded)
	}
}

// smallDelta finds how after differs from before. One change is found by deltaOps. If that leaves
// more than a few bytes, there may be several changes, which go-git's search finds; it is much
// slower, and takes memory in proportion to the objects, so large ones are not searched.
func smallDelta(before, after []byte) []byte {
	const small, large = 64, 1 << 20
	ops := deltaOps(before, after)
	if len(ops) > small && len(before) < large && len(after) < large {
		if searched := packfile.DiffDelta(before, after); len(searched) < len(ops) {
			ops = searched
		}
	}
	return ops
}
