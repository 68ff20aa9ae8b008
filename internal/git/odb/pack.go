package odb

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // a pack's checksum is SHA-1.
	"encoding/binary"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
)

// delta tells how an object differs from one that the server has.
type delta struct {
	base Hash
	ops  []byte
}

// keepDelta remembers a tree as its difference from the tree it was made from: a grafted tree differs in one entry, so a push of a
// thousand branches sends a few hundred bytes a branch rather than a thousand copies of the largest directory.
func (s *store) keepDelta(hash, base Hash, before, after string) {
	ops := deltaOps(before, after)
	if len(ops)*2 > len(after) {
		return
	}
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if len(s.deltas) >= deltaCacheSize {
		clear(s.deltas)
	}
	s.deltas[hash] = delta{base, ops}
}

func (s *store) deltaOf(hash Hash) (delta, bool) {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	d, ok := s.deltas[hash]
	return d, ok
}

// deltaOps writes after as: what it begins with in common with before, the difference, what it ends with in common with before.
func deltaOps(before, after string) []byte {
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
	for middle := after[prefix : len(after)-suffix]; middle != ""; {
		n := min(len(middle), 127)
		ops = append(append(ops, byte(n)), middle[:n]...)
		middle = middle[n:]
	}
	return appendCopy(ops, len(before)-suffix, suffix)
}

// appendCopy writes instructions that copy size bytes from offset of the base; one instruction copies less than 64 KiB.
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

// packWriter writes a pack, entry by entry.
type packWriter struct {
	out  io.Writer
	zlib *zlib.Writer
	err  error
}

// encodePack makes a pack of objects, each once. With thin, trees go as differences from trees that the server has.
func (s *store) encodePack(objects []Hash, thin bool) (*bytes.Buffer, error) {
	unique := newObjectList()
	for _, hash := range objects {
		unique.add(hash)
	}
	var buf bytes.Buffer
	_, err := s.streamPack(&buf, unique.list, thin)
	return &buf, err
}

// streamPack writes a pack, with one object in memory at a time, and gives its checksum.
func (s *store) streamPack(out io.Writer, objects []Hash, thin bool) (Hash, error) {
	sum := sha1.New()
	w := packWriter{out: io.MultiWriter(out, sum), zlib: zlib.NewWriter(io.Discard)}
	w.write(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects))))
	for _, hash := range objects {
		if d, ok := s.deltaOf(hash); ok && thin {
			w.entry(plumbing.REFDeltaObject, d.base[:], d.ops)
			continue
		}
		typ, content, err := s.read(hash)
		if err != nil {
			return Hash{}, err
		}
		w.entry(typ, nil, content)
		if w.err != nil {
			return Hash{}, w.err
		}
	}
	checksum := Hash(sum.Sum(nil))
	w.write(checksum[:])
	return checksum, w.err
}

func (w *packWriter) write(p []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(p)
	}
}

func (w *packWriter) entry(typ plumbing.ObjectType, base, content []byte) {
	size := len(content)
	first := byte(typ)<<4 | byte(size&0x0f)
	header := []byte{first}
	for size >>= 4; size > 0; size >>= 7 {
		header[len(header)-1] |= 0x80
		header = append(header, byte(size&0x7f))
	}
	w.write(append(header, base...))
	w.zlib.Reset(w.out)
	_, err := w.zlib.Write(content)
	if closeErr := w.zlib.Close(); err == nil {
		err = closeErr
	}
	if w.err == nil {
		w.err = err
	}
}
