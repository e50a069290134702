// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"strconv"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// getRuntimeInfo handles GET_BROKER_RUNTIME_INFO 28: what tools show of a
// broker, as texts by RocketMQ's names, and our own counters.
func (b *Broker) getRuntimeInfo(r request) {
	b.read(r, func() {
		r.okBody((&body.KVTable{Table: b.runtimeInfo()}).Encode())
	})
}

func (b *Broker) runtimeInfo() map[string]string {
	health := b.store.Health()
	t := map[string]string{
		"brokerActive": "true", "brokerVersionDesc": wire.VersionName(wire.Version),
		"bootTimestamp": itoa(b.clock.start.UnixMilli()), "runtime": uptime(time.Duration(b.clock.now())),
		"startAcceptSendRequestTimeStamp": "0", "pageCacheLockTimeMills": "0",
		"earliestMessageTimeStamp": itoa(b.oldest()),
		"commitLogMinOffset":       itoa(health.Positions.Start), "commitLogMaxOffset": itoa(health.Positions.Committed),
		"commitLogDiskRatio":    fmt.Sprintf("%.4f", health.DiskUsed),
		"consumeQueueDiskRatio": fmt.Sprintf("%.4f", health.DiskUsed),
		"commitLogDirCapacity":  fmt.Sprintf("Total : %.1f GiB, Free : %.1f GiB.", total(health)/(1<<30), float64(health.DiskFree)/(1<<30)),
		"dispatchBehindBytes":   itoa(health.Positions.Committed - health.Positions.Dispatched),
		"putMessageTimesTotal":  itoa(b.stats.messagesIn.total.Load()), "putMessageSizeTotal": itoa(b.stats.bytesIn.total.Load()),
		"putMessageFailedTimes": itoa(b.stats.sendsFailed.Load()), "putMessageAverageSize": b.averageSize(),
		"putTps": rates(&b.stats.messagesIn), "getTransferredTps": rates(&b.stats.messagesOut),
		"getFoundTps": rates(&b.stats.messagesOut), "getMissTps": rates(&b.stats.pullsEmpty), "getTotalTps": rates(&b.stats.messagesOut),
		"msgPutTotalTodayNow": itoa(b.stats.messagesIn.total.Load()), "msgGetTotalTodayNow": itoa(b.stats.messagesOut.total.Load()),
		"msgPutTotalTodayMorning": "0", "msgGetTotalTodayMorning": "0", "msgPutTotalYesterdayMorning": "0", "msgGetTotalYesterdayMorning": "0",
		"remainHowManyDataToFlush": itoa(health.Positions.Written-health.Positions.Synced) + " B",
		"timerReadBehind":          "0", "timerOffsetBehind": "0", "timerCongestNum": "0", "timerEnqueueTps": "0.0", "timerDequeueTps": "0.0",
	}
	for _, pool := range []string{"sendThreadPool", "pullThreadPool", "litePullThreadPool", "queryThreadPool", "ackThreadPool"} {
		t[pool+"QueueSize"], t[pool+"QueueCapacity"], t[pool+"QueueHeadWaitTimeMills"] = "0", "10000", "0"
	}
	for level := 1; level <= len(b.delays); level++ {
		if delivered, stored := b.delayOffsets(level); stored > 0 {
			t["scheduleMessageOffset_"+strconv.Itoa(level)] = fmt.Sprintf("%d,%d", delivered, stored)
		}
	}
	b.ownInfo(t, &health)
	return t
}

// ownInfo adds what RocketMQ has no name for.
func (b *Broker) ownInfo(t map[string]string, health *store.Health) {
	b.healthInfo(t, health)
	b.leaseInfo(t)
	t["orderly.sync.mode"] = b.cfg.SyncMode.String()
	t["orderly.holds"] = strconv.Itoa(b.holds.size())
	t["orderly.connections"] = strconv.Itoa(b.connCount())
	t["orderly.commits"] = itoa(b.stats.commits.Load())
	t["orderly.commits.refused"] = itoa(b.stats.refusals.Load())
	t["orderly.messages.misplaced"] = itoa(b.stats.misplaced.Load())
	t["orderly.messages.keyless"] = itoa(b.stats.keyless.Load())
	t["orderly.pulls.unlocked"] = itoa(b.stats.unlocked.Load())
	numbers := b.numbers.stats()
	for name, n := range map[string]uint64{
		"producers": uint64(numbers.Producers), "pairs": uint64(numbers.Pairs), "repeats": numbers.Repeats, "gaps": numbers.Gaps,
		"fenced": numbers.Fenced, "unknown": numbers.Unknown, "refused": numbers.Refused, "forgotten": numbers.Forgot,
	} {
		t["orderly.numbers."+name] = strconv.FormatUint(n, 10)
	}
	t[body.InfoRescued] = itoa(b.stats.rescued.Load())
	t["orderly.requests.unknown"] = itoa(b.stats.unknown.Load())
}

// leaseInfo adds what the lease tables of all groups have refused or noticed.
func (b *Broker) leaseInfo(t map[string]string) {
	var sum order.LeaseStats
	for _, g := range b.allGroups() {
		g.mu.Lock()
		s := g.leases.Stats()
		g.mu.Unlock()
		sum.Foreign += s.Foreign
		sum.Lower += s.Lower
		sum.Fenced += s.Fenced
		sum.Ignored += s.Ignored
		sum.Unknown += s.Unknown
		sum.Resets += s.Resets
		sum.Parked += s.Parked
		sum.Twins += s.Twins
		sum.Overruns += s.Overruns
		sum.Pauses += s.Pauses
		sum.Takeovers += s.Takeovers
	}
	for name, n := range map[string]uint64{
		"foreign.commits": sum.Foreign, "lower.commits": sum.Lower, "fenced": sum.Fenced, "ignored.commits": sum.Ignored,
		"unknown.commits": sum.Unknown, "resets": sum.Resets, "parked.pulls": sum.Parked, "twins": sum.Twins,
		"overruns": sum.Overruns, "pauses": sum.Pauses, "takeovers": sum.Takeovers,
	} {
		t["orderly.leases."+name] = strconv.FormatUint(n, 10)
	}
}

func (b *Broker) connCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.conns)
}

// oldest is the store time of the oldest message kept, -1 without one. It looks
// at the first message of each queue.
func (b *Broker) oldest() int64 {
	first := int64(-1)
	for _, topic := range b.store.Topics() {
		for _, id := range b.store.Queues(topic) {
			if ms := b.earliest(topic, id); ms >= 0 && (first < 0 || ms < first) {
				first = ms
			}
		}
	}
	return first
}

func (b *Broker) averageSize() string {
	n := b.stats.messagesIn.total.Load()
	if n == 0 {
		return "0.0"
	}
	return fmt.Sprintf("%.2f", float64(b.stats.bytesIn.total.Load())/float64(n))
}

// rates writes a counter's rates over 10 s, 1 min and 10 min.
func rates(c *counter) string {
	return fmt.Sprintf("%.4f %.4f %.4f", c.perSecond(10*time.Second), c.perSecond(time.Minute), c.perSecond(10*time.Minute))
}

func total(h store.Health) float64 {
	if h.DiskUsed >= 1 {
		return 0
	}
	return float64(h.DiskFree) / (1 - h.DiskUsed)
}

func uptime(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("[ %d days, %d hours, %d minutes, %d seconds ]", s/86400, s/3600%24, s/60%60, s%60)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
