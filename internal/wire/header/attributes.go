// SPDX-License-Identifier: Apache-2.0

package header

// Attributes of topics and groups that only Orderly knows. They travel where
// RocketMQ's own attributes do: `+key=value,-key` in UPDATE_AND_CREATE_TOPIC 17,
// the attributes map of topic and group configurations (21, 103, 200, 201, 351,
// 352). A stock peer shows them and does nothing with them.
const (
	AttrMessageType = "message.type" // RocketMQ's own; FIFO makes an ordered topic

	AttrLaneFunction = "orderly.lane.function" // orderly, java-string, go-fnv
	AttrLaneCheck    = "orderly.lane.check"    // warn, refuse
	AttrLaneMap      = "orderly.lane.map"      // route.LaneMap; only told, never set

	AttrOrdered          = "orderly.ordered"            // the group reads ordered topics
	AttrGraceMs          = "orderly.grace.ms"           // 250 to 60000
	AttrLeaseMs          = "orderly.lease.ms"           // at least twice the grace
	AttrStockFastRelease = "orderly.stock.fast.release" // true, false
	AttrMaxAttempts      = "orderly.max.attempts"       // 0: without end
	AttrBackoffMs        = "orderly.backoff.ms"         // comma list; the last one repeats
	AttrPoison           = "orderly.poison"             // block, dead-letter, park
	AttrMaxHandlerMs     = "orderly.max.handler.ms"     // 0: without end
	AttrOverrun          = "orderly.overrun"            // keep, release
)
