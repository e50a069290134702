// SPDX-License-Identifier: Apache-2.0

package meta

// Topic is the configuration of one topic: RocketMQ's fields, and ours for
// ordered topics. A Topic in a View is read-only.
type Topic struct {
	Name        string
	ReadQueues  int32
	WriteQueues int32
	Perm        int32 // bits: 4 read, 2 write, 1 inherit
	FilterType  FilterType
	SysFlag     int32
	Order       bool
	// Attributes as RocketMQ keeps them, without the + of the request.
	Attributes map[string]string

	// LaneFunc says how an ordering key finds its queue.
	LaneFunc LaneFunc
	// Lanes is the map of LaneOrderly; nil means lane i is on queue
	// i mod WriteQueues, epoch 0.
	Lanes *LaneMap
	// Check says what happens to a keyed message on a queue that the lane
	// function does not name.
	Check CheckMode
}

// AttrMessageType is the attribute that holds a topic's message type.
const AttrMessageType = "message.type"

// TypeFIFO is the message type of an ordered topic.
const TypeFIFO = "FIFO"

// MessageType is the topic's message type, "" if it has none.
func (t *Topic) MessageType() string { return t.Attributes[AttrMessageType] }

// Ordered says whether the contract of order is promised for the topic.
func (t *Topic) Ordered() bool { return t.Order && t.MessageType() == TypeFIFO }

// FilterType is RocketMQ's topicFilterType.
type FilterType uint8

// The filter types.
const (
	SingleTag FilterType = iota
	MultiTag
)

func (f FilterType) String() string {
	if f == MultiTag {
		return "MULTI_TAG"
	}
	return "SINGLE_TAG"
}

// LaneFunc names a function from ordering key to queue.
type LaneFunc uint8

// The lane functions.
const (
	LaneOrderly    LaneFunc = iota // published hash to 1,024 lanes, lane map to queues
	LaneJavaString                 // String.hashCode mod queues
	LaneGoFNV                      // the Go client's hash mod queues
)

func (l LaneFunc) String() string {
	switch l {
	case LaneJavaString:
		return "java-string"
	case LaneGoFNV:
		return "go-fnv"
	default:
		return "orderly"
	}
}

// ParseLaneFunc reads the name of a lane function; "" is the default.
func ParseLaneFunc(s string) (LaneFunc, bool) {
	for _, l := range []LaneFunc{LaneOrderly, LaneJavaString, LaneGoFNV} {
		if s == l.String() {
			return l, true
		}
	}
	return LaneOrderly, s == ""
}

// CheckMode says what the broker does with a misplaced keyed message.
type CheckMode uint8

// The check modes.
const (
	CheckWarn CheckMode = iota
	CheckRefuse
)

func (c CheckMode) String() string {
	if c == CheckRefuse {
		return "refuse"
	}
	return "warn"
}

// ParseCheckMode reads the name of a check mode; "" is the default.
func ParseCheckMode(s string) (CheckMode, bool) {
	switch s {
	case "refuse":
		return CheckRefuse, true
	case "warn", "":
		return CheckWarn, true
	}
	return CheckWarn, false
}

// LaneMap says which queue each virtual lane is on.
type LaneMap struct {
	Epoch uint64
	Queue []int32 // indexed by lane
	// Since is, per queue, the next offset at the moment the map took effect:
	// what a moved lane's old queue must be settled up to.
	Since []int64
}
