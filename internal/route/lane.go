// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/msg"
)

// Lanes is the number of virtual lanes. It never changes: the queues of a topic
// may grow, and then whole lanes move.
const Lanes = 1024

// Lane returns the lane of an ordering key, 0 to 1023: the top 10 bits of
// FNV-1a-64(key) · 0x9E3779B97F4A7C15.
func Lane(key string) int32 { return LaneOfHash(msg.KeyHash(key)) }

// LaneOfHash returns the lane from the key hash that a broker keeps
// (msg.KeyHash), so that it can tell lanes apart without the keys.
func LaneOfHash(keyHash uint32) int32 { return int32(keyHash >> 22) }

// JavaString returns the queue that RocketMQ's Java hash selector takes when its
// argument is this string: hashCode modulo n, and only then the absolute value.
func JavaString(key string, n int32) int32 {
	q := int32(msg.TagHash(key)) % n
	if q < 0 {
		q = -q
	}
	return q
}

// GoFNV returns the queue that RocketMQ's Go hash selector takes for this
// sharding key: FNV-1a-32 modulo n. (Without a key it takes any queue.)
func GoFNV(key string, n int32) int32 {
	h := uint32(0x811c9dc5)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 0x01000193
	}
	return int32(h % uint32(n))
}

// Function names how a topic's keys find their queue.
type Function string

// Lane functions. The empty name is Orderly.
const (
	Orderly         Function = "orderly"     // through 1,024 lanes and a lane map
	JavaStringHash  Function = "java-string" // as RocketMQ's Java hash selector
	GoFNVHash       Function = "go-fnv"      // as RocketMQ's Go hash selector
	defaultFunction          = Orderly
)

// ParseFunction reads the name of a lane function.
func ParseFunction(s string) (Function, error) {
	switch f := Function(s); f {
	case "":
		return defaultFunction, nil
	case Orderly, JavaStringHash, GoFNVHash:
		return f, nil
	}
	return "", fmt.Errorf("lane function %.64q is unknown: use %s, %s or %s", s, Orderly, JavaStringHash, GoFNVHash)
}

// Placement says where the keys of one topic go.
type Placement struct {
	Function Function
	Map      LaneMap // only for Orderly; without lanes it is the first map of Queues
	Queues   int32   // length of the topic's queue list
}

// Queue returns the place in the topic's queue list that the key goes to.
func (p *Placement) Queue(key string) (int32, error) {
	if p.Queues < 1 {
		return 0, fmt.Errorf("place key: the topic has no queues")
	}
	switch p.Function {
	case "", Orderly:
		q := p.Map.Of(Lane(key), p.Queues)
		if q < 0 || q >= p.Queues {
			return 0, fmt.Errorf("place key: lane map of epoch %d names queue %d of %d: refresh the route", p.Map.Epoch, q, p.Queues)
		}
		return q, nil
	case JavaStringHash:
		return JavaString(key, p.Queues), nil
	case GoFNVHash:
		return GoFNV(key, p.Queues), nil
	}
	return 0, fmt.Errorf("place key: lane function %.64q is unknown", p.Function)
}
