// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
)

// derivesKeys reports whether the member asks KeyOf for keys.
func (m *member) derivesKeys() bool { return m.cfg.Order == ByKey && m.keyOf != nil }

// deriveKeys sets the keys of entries by KeyOf. What it gives no key to is a
// barrier of its queue, which is safe whatever its key was meant to be.
//
// KeyOf runs on a goroutine of its own: the caller's is a connection's, and may
// not end with a KeyOf that ends its goroutine.
func (l *lane) deriveKeys(entries []order.Entry) {
	for at := 0; at < len(entries); at++ {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ; at < len(entries); at++ {
				entries[at].Key = uint64(msg.KeyHash(l.derivedKey(entries[at].Ref.(*storedMessage))))
			}
		}()
		<-done
		if at < len(entries) {
			l.oddKey(entries[at].Offset, "it ended its goroutine (runtime.Goexit)")
		}
	}
}

// derivedKey asks KeyOf; the key is empty if it panics, or if the message cannot
// be read: then the hand-out will say what is wrong.
func (l *lane) derivedKey(r *storedMessage) (key string) {
	m, err := l.m.c.received(r, l.queue.Broker, 1, uint64(l.grant.Epoch))
	if err != nil {
		return ""
	}
	defer func() {
		if p := recover(); p != nil {
			key = ""
			l.oddKey(r.QueueOffset, fmt.Sprint("it panicked: ", p))
		}
	}()
	return l.m.keyOf(m)
}

func (l *lane) oddKey(offset int64, what string) {
	l.log.Error("KeyOf gave no key; the message is a barrier of its queue", "offset", offset, "err", what)
}
