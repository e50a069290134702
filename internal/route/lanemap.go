// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
)

// LaneMap says which queue each lane goes to; Queue holds places in the topic's
// queue list, or is nil for the first map, lane modulo number of queues. The
// epoch grows by one with each change.
type LaneMap struct {
	Epoch int64
	Queue []int32
}

// NewLaneMap returns the map lane -> lane modulo n.
func NewLaneMap(epoch int64, n int32) LaneMap {
	m := LaneMap{Epoch: epoch, Queue: make([]int32, Lanes)}
	for lane := range m.Queue {
		m.Queue[lane] = int32(lane) % n
	}
	return m
}

// Of returns the queue of a lane in a topic of n queues.
func (m *LaneMap) Of(lane, n int32) int32 {
	if len(m.Queue) == 0 {
		return lane % n
	}
	return m.Queue[lane]
}

// Check tells whether the map fits a topic of n queues.
func (m *LaneMap) Check(n int32) error {
	if n < 1 {
		return fmt.Errorf("lane map: a topic of %d queues", n)
	}
	if len(m.Queue) == 0 {
		return nil
	}
	if len(m.Queue) != Lanes {
		return fmt.Errorf("lane map: %d lanes, need %d", len(m.Queue), Lanes)
	}
	for lane, q := range m.Queue {
		if q < 0 || q >= n {
			return fmt.Errorf("lane map: lane %d goes to queue %d of %d", lane, q, n)
		}
	}
	return nil
}

// Moved returns the lanes that another map of a topic of n queues sends
// elsewhere.
func (m *LaneMap) Moved(to *LaneMap, from, n int32) []int32 {
	var out []int32
	for lane := range int32(Lanes) {
		if m.Of(lane, from) != to.Of(lane, n) {
			out = append(out, lane)
		}
	}
	return out
}

// Grow returns the next map, for n queues, where shares differ by one lane at
// most: it moves as few lanes as that takes. n must not be below the present
// number, from.
func (m *LaneMap) Grow(from, n int32) (LaneMap, error) {
	if err := m.Check(from); err != nil {
		return LaneMap{}, err
	}
	if n < from || n > msg.MaxQueueCount {
		return LaneMap{}, fmt.Errorf("lane map: cannot go from %d to %d queues", from, n)
	}
	next := LaneMap{Epoch: m.Epoch + 1, Queue: make([]int32, Lanes)}
	surplus := make([]int32, n) // lanes that a queue has above its share
	for lane := range int32(Lanes) {
		next.Queue[lane] = m.Of(lane, from)
		surplus[next.Queue[lane]]++
	}
	subtractShares(surplus)
	to := 0
	for lane, q := range next.Queue {
		if surplus[q] <= 0 {
			continue
		}
		for surplus[to] >= 0 {
			to++
		}
		surplus[q]--
		surplus[to]++
		next.Queue[lane] = int32(to)
	}
	return next, nil
}

// subtractShares turns lanes per queue into lanes above the queue's share. The
// rest of the division goes to those who have the most: that moves the least.
func subtractShares(load []int32) {
	n := len(load)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(load[b], load[a]) })
	for i, q := range order {
		load[q] -= int32(Lanes / n)
		if i < Lanes%n {
			load[q]--
		}
	}
}

// String is the form in which a map is stored and sent: "epoch" for the first
// map, else "epoch:q,q*count,..." with equal neighbours counted.
func (m LaneMap) String() string {
	b := strconv.AppendInt(nil, m.Epoch, 10)
	for i := 0; i < len(m.Queue); {
		run := 1
		for i+run < len(m.Queue) && m.Queue[i+run] == m.Queue[i] {
			run++
		}
		if i == 0 {
			b = append(b, ':')
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(m.Queue[i]), 10)
		if run > 1 {
			b = append(b, '*')
			b = strconv.AppendInt(b, int64(run), 10)
		}
		i += run
	}
	return string(b)
}

// ParseLaneMap reads what String wrote.
func ParseLaneMap(s string) (LaneMap, error) {
	epoch, list, explicit := strings.Cut(s, ":")
	var m LaneMap
	var err error
	if m.Epoch, err = strconv.ParseInt(epoch, 10, 64); err != nil || m.Epoch < 0 {
		return LaneMap{}, fmt.Errorf("lane map %.64q: bad epoch", s)
	}
	if !explicit {
		return m, nil
	}
	m.Queue = make([]int32, 0, Lanes)
	for part := range strings.SplitSeq(list, ",") {
		text, times, repeated := strings.Cut(part, "*")
		q, err := strconv.ParseInt(text, 10, 32)
		run := 1
		if err == nil && repeated {
			run, err = strconv.Atoi(times)
		}
		if err != nil || q < 0 || run < 1 || run > Lanes-len(m.Queue) {
			return LaneMap{}, fmt.Errorf("lane map %.64q: bad entry %.32q", s, part)
		}
		for range run {
			m.Queue = append(m.Queue, int32(q))
		}
	}
	if len(m.Queue) != Lanes {
		return LaneMap{}, fmt.Errorf("lane map %.64q: %d lanes, need %d", s, len(m.Queue), Lanes)
	}
	return m, nil
}
