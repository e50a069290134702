// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
)

// The key index finds messages by key. Per log segment it keeps a file of runs;
// a run holds the keys of a range of the log as sorted (hash, place) pairs, in
// checked blocks. The hash is a hint only: the record decides. Byte layout:
// docs/format/keyindex.md.
const (
	keyMagic   = 0x4f4b5831 // "OKX1"
	keyHeader  = 96
	keyEntry   = 16
	keyBlock   = 4 * kib
	keyInBlock = (keyBlock - 16) / keyEntry
)

// keyRef says that a message with a key of this hash is at phys.
type keyRef struct {
	hash uint64
	phys int64
}

func compareKeys(a, b keyRef) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	return cmp.Compare(a.phys, b.phys)
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func fnvAdd[T string | []byte](h uint64, s T) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// keyHash is FNV-1a over topic#key.
func keyHash[T, K string | []byte](topic T, key K) uint64 {
	return fnvAdd(fnvAdd(fnvAdd(fnvOffset, topic), "#"), key)
}

// TagKey is the key under which a message can be found by its tag.
func TagKey(tag string) string { return "T#" + tag }

// appendKeys appends the keys of a record: UNIQ_KEY, each word of KEYS, and the
// tag.
func appendKeys(dst []keyRef, v msg.View, phys int64) []keyRef {
	var id, keys, tag []byte
	for name, value := range v.EachProperty() {
		switch string(name) {
		case msg.PropUniqueKey:
			id = value
		case msg.PropKeys:
			keys = value
		case msg.PropTags:
			tag = value
		}
	}
	topic := fnvAdd(fnvAdd(fnvOffset, v.Topic()), "#")
	if id != nil {
		dst = append(dst, keyRef{fnvAdd(topic, id), phys})
	}
	for len(keys) > 0 {
		n := bytes.IndexByte(keys, ' ')
		if n < 0 {
			n = len(keys)
		}
		if n > 0 {
			dst = append(dst, keyRef{fnvAdd(topic, keys[:n]), phys})
		}
		keys = keys[min(n+1, len(keys)):]
	}
	if tag != nil {
		dst = append(dst, keyRef{fnvAdd(fnvAdd(topic, "T#"), tag), phys})
	}
	return dst
}

// hasKey reports whether the record really carries the key that was asked for.
func hasKey(v msg.View, topic, key string) bool {
	if string(v.Topic()) != topic {
		return false
	}
	if id, ok := v.Property(msg.PropUniqueKey); ok && string(id) == key {
		return true
	}
	if tag, ok := strings.CutPrefix(key, "T#"); ok {
		if have, ok := v.Property(msg.PropTags); ok && string(have) == tag {
			return true
		}
	}
	keys, _ := v.Property(msg.PropKeys)
	for word := range strings.SplitSeq(string(keys), " ") {
		if word == key && word != "" {
			return true
		}
	}
	return false
}

// keyHead is the header of a run.
type keyHead struct {
	length   int64
	from, to int64
	last     frameRef
	entries  int64
}

func (h *keyHead) encode(b []byte) {
	be := binary.BigEndian
	clear(b[:keyHeader])
	be.PutUint32(b, keyMagic)
	be.PutUint32(b[4:], keyHeader)
	be.PutUint64(b[8:], uint64(h.length))
	be.PutUint64(b[16:], uint64(h.from))
	be.PutUint64(b[24:], uint64(h.to))
	be.PutUint32(b[32:], h.last.crc)
	be.PutUint64(b[40:], uint64(h.entries))
	be.PutUint64(b[48:], uint64(h.last.pos))
	be.PutUint32(b[keyHeader-4:], crcOf(b[:keyHeader-4]))
}

func decodeKeyHead(b []byte) (h keyHead, ok bool) {
	be := binary.BigEndian
	if len(b) < keyHeader || be.Uint32(b) != keyMagic || be.Uint32(b[4:]) != keyHeader ||
		be.Uint32(b[keyHeader-4:]) != crcOf(b[:keyHeader-4]) {
		return h, false
	}
	h = keyHead{
		length:  int64(be.Uint64(b[8:])),
		from:    int64(be.Uint64(b[16:])),
		to:      int64(be.Uint64(b[24:])),
		last:    frameRef{crc: be.Uint32(b[32:]), pos: int64(be.Uint64(b[48:]))},
		entries: int64(be.Uint64(b[40:])),
	}
	ok = h.from >= 0 && h.from < h.to && h.entries >= 0 && h.entries <= maxRun/keyEntry && h.last.pos >= 0 &&
		h.length == keyHeader+keyBlocks(h.entries)*keyBlock
	return h, ok
}

func keyBlocks(entries int64) int64 { return (entries + keyInBlock - 1) / keyInBlock }

// encodeKeyRun makes a run of keys, which it sorts.
func encodeKeyRun(from, to int64, last frameRef, keys []keyRef) []byte {
	slices.SortFunc(keys, compareKeys)
	h := keyHead{from: from, to: to, last: last, entries: int64(len(keys))}
	h.length = keyHeader + keyBlocks(h.entries)*keyBlock
	b := make([]byte, h.length)
	h.encode(b)
	for i, at := 0, keyHeader; i < len(keys); i, at = i+keyInBlock, at+keyBlock {
		encodeKeyBlock(b[at:at+keyBlock], keys[i:min(i+keyInBlock, len(keys))])
	}
	return b
}

func encodeKeyBlock(b []byte, keys []keyRef) {
	be := binary.BigEndian
	for i, k := range keys {
		be.PutUint64(b[i*keyEntry:], k.hash)
		be.PutUint64(b[i*keyEntry+8:], uint64(k.phys))
	}
	be.PutUint32(b[keyBlock-16:], uint32(len(keys)))
	be.PutUint32(b[keyBlock-4:], crcOf(b[:keyBlock-4]))
}

// decodeKeyBlock appends the entries of a block to dst.
func decodeKeyBlock(dst []keyRef, b []byte) ([]keyRef, bool) {
	be := binary.BigEndian
	n := be.Uint32(b[keyBlock-16:])
	if n == 0 || n > keyInBlock || be.Uint32(b[keyBlock-4:]) != crcOf(b[:keyBlock-4]) {
		return dst, false
	}
	for i := range int(n) {
		dst = append(dst, keyRef{be.Uint64(b[i*keyEntry:]), int64(be.Uint64(b[i*keyEntry+8:]))})
	}
	return dst, true
}

// keyRun is a run on disk.
type keyRun struct {
	pos  int64
	head keyHead
}

var errKeyDamaged = errors.New("key index is damaged")

// search appends the places of a hash in a run to dst.
func (r *keyRun) search(f io.ReaderAt, hash uint64, dst []int64) ([]int64, error) {
	blocks := int(keyBlocks(r.head.entries))
	var fail error
	var keys []keyRef
	buf := make([]byte, keyBlock)
	load := func(i int) []keyRef {
		at := r.pos + keyHeader + int64(i)*keyBlock
		if _, err := f.ReadAt(buf, at); err != nil && fail == nil {
			fail = fmt.Errorf("read key index: %w", err)
		}
		var ok bool
		if keys, ok = decodeKeyBlock(keys[:0], buf); !ok && fail == nil {
			fail = errKeyDamaged
		}
		return keys
	}
	// The first block whose last hash is not below the one sought.
	i := sort.Search(blocks, func(i int) bool {
		k := load(i)
		return fail != nil || k[len(k)-1].hash >= hash
	})
	for ; i < blocks && fail == nil; i++ {
		for _, k := range load(i) {
			if k.hash > hash {
				return dst, fail
			}
			if k.hash == hash {
				dst = append(dst, k.phys)
			}
		}
	}
	return dst, fail
}
