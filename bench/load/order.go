// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
)

// MinBody is the least body size: a message carries its key's number and its
// own number within the key, so that the receiver can judge the order.
const MinBody = 12

// bodies makes bodies of one size that do not compress.
type bodies []byte

func newBodies(size int) bodies {
	b := make(bodies, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails
	return b
}

func (b bodies) make(key uint32, seq uint64) []byte {
	out := bytes.Clone(b)
	binary.BigEndian.PutUint32(out, key)
	binary.BigEndian.PutUint64(out[4:], seq)
	return out
}

func readBody(b []byte) (key uint32, seq uint64, err error) {
	if len(b) < MinBody {
		return 0, 0, fmt.Errorf("load: a body of %d bytes is none of ours", len(b))
	}
	return binary.BigEndian.Uint32(b), binary.BigEndian.Uint64(b[4:]), nil
}

func keyName(k uint32) string { return fmt.Sprintf("key-%05d", k) }

// Verdict is what became of the order of what was consumed.
type Verdict struct {
	Received   int64 `json:"received"`
	Repeated   int64 `json:"repeated"`     // a number at or below the key's last one, handled before
	OutOfOrder int64 `json:"out_of_order"` // a number after a gap
}

// judge follows the numbers of each key.
type judge struct {
	loose bool // no order is promised: only count
	mu    sync.Mutex
	next  map[uint32]uint64
	Verdict
}

func (j *judge) see(key uint32, seq uint64) (received int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.loose {
		j.Received++
		return j.Received
	}
	if j.next == nil {
		j.next = map[uint32]uint64{}
	}
	switch want := j.next[key]; {
	case seq < want:
		j.Repeated++
		return j.Received
	case seq > want:
		j.OutOfOrder++
	}
	j.next[key] = seq + 1
	j.Received++
	return j.Received
}
