// SPDX-License-Identifier: Apache-2.0

// Package rebalance splits the queues of a topic among the members of a consumer
// group. It is pure: the same input gives the same split everywhere.
//
// What is promised:
//
//   - Every queue goes to exactly one member, whichever member works the split
//     out, as long as all use the same strategy on the same queues and members.
//     (CONFIG is the user's own split, and MACHINE_ROOM leaves out the queues of
//     rooms that nobody named.)
//   - The classic strategies give member by member what RocketMQ's Java client
//     gives, so that members of both kinds can share one group. AVG and
//     AVG_BY_CIRCLE are the same in RocketMQ's Go client too; its consistent hash
//     is another one and must not be mixed.
//   - Sticky keeps every queue that balance allows where it is.
package rebalance
