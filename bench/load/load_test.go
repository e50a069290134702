// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLatenciesAreCloseToTheExactOnes compares with a sorted list.
func TestLatenciesAreCloseToTheExactOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, int64(30*time.Minute)), 1, 300).Draw(t, "times")
		var l Latencies
		for _, d := range times {
			l.Add(time.Duration(d))
		}
		slices.Sort(times)
		s := l.Summary()
		for q, got := range map[float64]float64{0.5: s.P50, 0.99: s.P99, 0.999: s.P999} {
			want := float64(times[int(q*float64(len(times)-1))]) / 1000
			if diff := got - want; diff > want/16+0.1 || diff < -want/16-0.1 {
				t.Fatalf("quantile %v: %v us, exact %v us", q, got, want)
			}
		}
		if want := float64(times[len(times)-1]) / 1000; s.Max > want || s.Max < want-0.1 {
			t.Fatalf("max %v, exact %v", s.Max, want)
		}
	})
}

func TestBucketsAreInOrder(t *testing.T) {
	for i := range subBuckets*38 - 1 {
		if lowest(i) >= lowest(i+1) || bucketOf(lowest(i)) != i || bucketOf(lowest(i+1)-1) != i {
			t.Fatalf("bucket %d begins at %d, the next at %d", i, lowest(i), lowest(i+1))
		}
	}
}

func TestJudge(t *testing.T) {
	var j judge
	for _, s := range []uint64{0, 1, 1, 0, 2, 4, 5} {
		j.see(7, s)
	}
	j.see(8, 0)
	if want := (Verdict{Received: 6, Repeated: 2, OutOfOrder: 1}); j.Verdict != want {
		t.Errorf("%+v, want %+v", j.Verdict, want)
	}
}

func client(t *testing.T) *orderly.Client {
	t.Helper()
	srv, err := embed.Start(t.Context(), embed.Config{
		NamesrvAddr: "127.0.0.1:0", BrokerAddr: "127.0.0.1:0", DataDir: t.TempDir(), SegmentSize: 4 << 20, AsyncDisk: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	a, err := admin.Open(t.Context(), admin.Config{NameServers: []string{srv.NamesrvAddr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, topic := range []admin.Topic{{Name: "ordered", Queues: 3, Ordered: true}, {Name: "plain", Queues: 3}} {
		if err := a.CreateTopic(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
	}
	c, err := orderly.Open(t.Context(), orderly.Config{NameServers: []string{srv.NamesrvAddr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSendIsBoundedByCountAndTime(t *testing.T) {
	c := client(t)
	for name, o := range map[string]SendOptions{
		"one":          {Topic: "ordered", Senders: 1, Keys: 2, Body: 100, Count: 50},
		"pipelined":    {Topic: "ordered", Senders: 3, Keys: 9, Body: 100, Count: 1000, InFlight: 10},
		"without keys": {Topic: "plain", Senders: 2, Body: 5000, Count: 100, InFlight: 10},
		"by time":      {Topic: "plain", Senders: 2, Body: 100, Count: 1 << 40, Duration: 30 * time.Millisecond},
	} {
		r, err := Send(t.Context(), c, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r.Failed != 0 || r.OutOfOrder != 0 || r.PerSecond <= 0 || r.Latency.P50 <= 0 || r.Latency.Max < r.Latency.P50 {
			t.Errorf("%s: %+v", name, r)
		}
		if o.Duration == 0 && r.Messages != o.Count || o.Duration != 0 && r.Messages == 0 {
			t.Errorf("%s: %d messages", name, r.Messages)
		}
	}
}

func TestSendSaysWhatIsWrong(t *testing.T) {
	c := client(t)
	for want, o := range map[string]SendOptions{
		"sender":  {Topic: "plain", Body: 100, Count: 1},
		"keys":    {Topic: "ordered", Senders: 4, Keys: 3, Body: 100, Count: 1},
		"bytes":   {Topic: "plain", Senders: 1, Body: 3, Count: 1},
		"message": {Topic: "bad topic", Senders: 1, Body: 100, Count: 1},
	} {
		if _, err := Send(t.Context(), c, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestDrainGetsEverythingInOrder(t *testing.T) {
	c := client(t)
	const count = 3001
	if err := Fill(t.Context(), c, FillOptions{Topic: "ordered", Keys: 10, Body: 64, Count: count}); err != nil {
		t.Fatal(err)
	}
	for name, order := range map[string]orderly.Order{"queue": orderly.ByQueue, "key": orderly.ByKey} {
		r, err := Drain(t.Context(), c, DrainOptions{Topic: "ordered", Group: name, Order: order, Count: count, Limit: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if r.Received != count || r.Missing != 0 || r.OutOfOrder != 0 || r.PerSecond <= 0 || r.FirstMessage <= 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestDrainGivesUp tells what is missing.
func TestDrainGivesUp(t *testing.T) {
	c := client(t)
	if err := Fill(t.Context(), c, FillOptions{Topic: "ordered", Keys: 4, Body: 64, Count: 10}); err != nil {
		t.Fatal(err)
	}
	r, err := Drain(t.Context(), c, DrainOptions{Topic: "ordered", Group: "g", Count: 12, Limit: 300 * time.Millisecond})
	if err != nil || r.Received != 10 || r.Missing != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}
