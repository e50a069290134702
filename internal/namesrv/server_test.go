// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// registration makes a REGISTER_BROKER request. Each topic is "name" or, if
// ordered, "name!", with n queues.
func registration(broker string, version int64, n int32, topics ...string) *wire.Command {
	b := body.RegisterBroker{Topics: body.TopicConfigSerializeWrapper{
		DataVersion: body.DataVersion{Counter: version},
		Topics:      map[string]body.TopicConfig{},
	}}
	for _, name := range topics {
		name, ordered := strings.CutSuffix(name, "!")
		b.Topics.Topics[name] = body.TopicConfig{TopicName: name, ReadQueueNums: n, WriteQueueNums: n, Perm: 6, Order: ordered}
	}
	return request(wire.ReqRegisterBroker, string(b.Encode()),
		"brokerName", broker, "brokerAddr", broker+":10911", "clusterName", "C", "haServerAddr", broker+":10912", "brokerId", "0")
}

func (r *rig) register(from string, req *wire.Command) {
	r.t.Helper()
	c := r.connect(from)
	if resp := call(r.t, c, req); resp.Code != wire.Success {
		r.t.Fatalf("register: %d %s", resp.Code, resp.Remark)
	}
}

// route returns a topic's route, or the answered code.
func (r *rig) route(topic string) (body.TopicRouteData, int32) {
	r.t.Helper()
	resp := call(r.t, r.conn, request(wire.ReqGetRouteInfoByTopic, "", "topic", topic))
	var data body.TopicRouteData
	if resp.Code == wire.Success {
		if err := data.Decode(resp.Body); err != nil {
			r.t.Fatal(err)
		}
	}
	return data, resp.Code
}

func (r *rig) wantRoute(topic string, code int32, conf string) {
	r.t.Helper()
	if data, got := r.route(topic); got != code || data.OrderTopicConf != conf {
		r.t.Errorf("route of %s: code %d, order %q; want %d, %q", topic, got, data.OrderTopicConf, code, conf)
	}
}

func TestSilentBrokerExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, Config{})
		c := r.connect("broker-a")
		call(t, c, registration("broker-a", 1, 4, "A", "B"))
		beat := func() {
			call(t, c, request(wire.ReqQueryDataVersion, `{"counter":1}`, "brokerName", "broker-a", "brokerAddr", "broker-a:10911", "clusterName", "C", "brokerId", "0"))
		}
		for range 10 {
			time.Sleep(60 * time.Second)
			beat()
			r.wantRoute("A", wire.Success, "")
		}
		for range 11 { // other requests keep the link up, but are no registration
			time.Sleep(10 * time.Second)
			call(t, c, request(wire.ReqGetBrokerClusterInfo, ""))
			r.wantRoute("A", wire.Success, "")
		}
		time.Sleep(16 * time.Second)
		r.wantRoute("A", wire.TopicNotExist, "")
		if !r.log.has("level=WARN", "expired", "broker=broker-a") {
			t.Error("no log line")
		}
	})
}

func TestBrokerMayAskForAnotherTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, Config{})
		req := registration("broker-a", 1, 4, "A", "B")
		req.Ext.Set("heartbeatTimeoutMillis", "5000")
		r.register("broker-a", req)
		time.Sleep(4 * time.Second)
		r.wantRoute("A", wire.Success, "")
		time.Sleep(7 * time.Second)
		r.wantRoute("A", wire.TopicNotExist, "")
	})
}

func TestLostConnectionTakesTheBrokerOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, Config{})
		r.register("broker-a", registration("broker-a", 1, 4, "A", "B"))
		r.register("broker-b", registration("broker-b", 1, 4, "B", "C"))
		r.net.Reset("broker-a", "ns")
		synctest.Wait()
		r.wantRoute("A", wire.TopicNotExist, "")
		if data, _ := r.route("B"); len(data.Brokers) != 1 || data.Brokers[0].BrokerName != "broker-b" {
			t.Errorf("route of B: %+v", data)
		}
	})
}

func TestOnlyTheLastRegisteringConnectionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, Config{})
		r.register("old", registration("broker-a", 1, 4, "A", "B"))
		r.register("new", registration("broker-a", 1, 4, "A", "B"))
		r.net.Reset("old", "ns")
		synctest.Wait()
		r.wantRoute("A", wire.Success, "")
		r.net.Reset("new", "ns")
		synctest.Wait()
		r.wantRoute("A", wire.TopicNotExist, "")
	})
}

func TestOrderedTopicAlwaysHasItsConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, Config{})
		put := func(code int32, value string) {
			t.Helper()
			if resp := call(t, r.conn, request(code, "", "namespace", NamespaceOrder, "key", "Orders", "value", value)); resp.Code != 0 {
				t.Fatalf("KV: %s", resp.Remark)
			}
		}
		r.register("broker-a", registration("broker-a", 1, 8, "Orders!", "Plain"))
		r.wantRoute("Orders", wire.Success, "broker-a:8")
		r.wantRoute("Plain", wire.Success, "")
		put(wire.ReqPutKVConfig, "broker-a:4")
		r.wantRoute("Orders", wire.Success, "broker-a:4")
		put(wire.ReqDeleteKVConfig, "")
		r.wantRoute("Orders", wire.Success, "broker-a:8")

		// A second broker is reported, and its queues are not served.
		r.register("broker-b", registration("broker-b", 1, 16, "Orders!", "Plain"))
		r.wantRoute("Orders", wire.Success, "broker-a:8")
		if !r.log.has("level=ERROR", "second broker", "topic=Orders", "owner=broker-a", "other=broker-b") {
			t.Error("no log line about the conflict")
		}
		want := map[string][]string{"Orders": {"broker-a", "broker-b"}}
		if got := r.Conflicts(); !maps.EqualFunc(got, want, func(a, b []string) bool { return strings.Join(a, " ") == strings.Join(b, " ") }) {
			t.Errorf("conflicts %v, want %v", got, want)
		}
		resp := call(t, r.conn, request(wire.ReqGetKVListByNamespace, "", "namespace", NamespaceConflicts))
		if string(resp.Body) != `{"table":{"Orders":"broker-a,broker-b"}}` {
			t.Errorf("conflicts by KV: %d %s", resp.Code, resp.Body)
		}
		resp = call(t, r.conn, request(wire.ReqPutKVConfig, "", "namespace", NamespaceConflicts, "key", "k", "value", "v"))
		if resp.Code != wire.SystemError {
			t.Errorf("writing conflicts: %d", resp.Code)
		}

		// The owner's absence does not move the keys.
		r.net.Reset("broker-a", "ns")
		synctest.Wait()
		r.wantRoute("Orders", wire.Success, "broker-a:8")
		r.register("broker-a", registration("broker-a", 1, 8, "Orders!", "Plain"))
		r.wantRoute("Orders", wire.Success, "broker-a:8")
		r.net.Reset("broker-b", "ns")
		synctest.Wait()
		if got := r.Conflicts(); len(got) != 0 {
			t.Errorf("conflicts %v after the second broker is gone", got)
		}
	})
}

func TestFIFOTopicsAreOrdered(t *testing.T) {
	r := start(t, Config{})
	req := registration("broker-a", 1, 4, "A", "B")
	req.Body = []byte(strings.Replace(string(req.Body), `"attributes":{}`, `"attributes":{"message.type":"FIFO"}`, 1))
	r.register("broker-a", req)
	r.wantRoute("A", wire.Success, "broker-a:4")
	r.wantRoute("B", wire.Success, "")
}

func TestDeletedTopicLeavesNoOrder(t *testing.T) {
	r := start(t, Config{})
	r.register("broker-a", registration("broker-a", 1, 8, "Orders!", "Plain"))
	call(t, r.conn, request(wire.ReqPutKVConfig, "", "namespace", NamespaceOrder, "key", "Orders", "value", "broker-a:4"))
	call(t, r.conn, request(wire.ReqDeleteTopicInNamesrv, "", "topic", "Orders", "clusterName", "C"))
	r.wantRoute("Orders", wire.TopicNotExist, "")
	if resp := call(t, r.conn, request(wire.ReqGetKVConfig, "", "namespace", NamespaceOrder, "key", "Orders")); resp.Code != wire.QueryNotFound {
		t.Errorf("configuration is still there: %d", resp.Code)
	}
	r.register("broker-a", registration("broker-a", 2, 8, "Orders", "Plain"))
	r.wantRoute("Orders", wire.Success, "")
}

func TestRegistrationAnswerTellsOrderedTopics(t *testing.T) {
	r := start(t, Config{})
	call(t, r.conn, request(wire.ReqPutKVConfig, "", "namespace", NamespaceOrder, "key", "Orders", "value", "broker-a:4"))
	resp := call(t, r.connect("broker-a"), registration("broker-a", 1, 8, "Orders", "Plain"))
	if string(resp.Body) != `{"table":{"Orders":"broker-a:4"}}` {
		t.Errorf("body %s", resp.Body)
	}
}

func TestNewerStateVersionWins(t *testing.T) {
	r := start(t, Config{})
	first := registration("broker-a", 1, 4, "A", "B")
	first.Body = []byte(strings.ReplaceAll(string(first.Body), `"stateVersion":0`, `"stateVersion":7`))
	r.register("old", first)
	stale := registration("broker-a", 9, 4, "A", "B", "Stale")
	stale.Ext.Set("brokerAddr", "elsewhere:10911")
	r.register("new", stale)
	if data, _ := r.route("A"); data.Brokers[0].BrokerAddrs[0] != "broker-a:10911" {
		t.Errorf("route %+v", data)
	}
	r.wantRoute("Stale", wire.TopicNotExist, "")
}

func TestCompressedRegistration(t *testing.T) {
	piece := func(s string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
	}
	plain := piece(`{"counter":3,"stateVersion":0,"timestamp":1700000000000}`) +
		"\x00\x00\x00\x02" + piece(`T1 4 8 6 SINGLE_TAG {"message.type":"FIFO"}`) + piece("T2 1 1 4 SINGLE_TAG {}") +
		piece("[]") + "\x00\x00\x00\x00"
	var zipped bytes.Buffer
	z := zlib.NewWriter(&zipped)
	if _, err := z.Write([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"true", "false"} { // brokers send false for a compressed body
		r := start(t, Config{})
		req := registration("broker-a", 1, 1, "x")
		req.Body = zipped.Bytes()
		req.Ext.Set("compressed", flag)
		req.Ext.Set("bodyCrc32", fmt.Sprint(crc32.ChecksumIEEE(req.Body)&0x7fffffff))
		r.register("broker-a", req)
		r.wantRoute("T1", wire.Success, "broker-a:8")
		if data, _ := r.route("T2"); data.Queues[0].Perm != 4 {
			t.Errorf("route of T2: %+v", data)
		}
		for cut := range len(plain) {
			if _, err := compressedBody([]byte(plain[:cut])); err == nil {
				t.Fatalf("a stream of %d bytes without zlib was accepted", cut)
			}
		}
	}
}

func TestKVSurvivesARestart(t *testing.T) {
	fs := vfs.OS()
	dir := t.TempDir() + "/namesrv"
	t.Run("write", func(t *testing.T) {
		r := start(t, Config{Dir: dir, FS: fs})
		for i := range 20 {
			call(t, r.conn, request(wire.ReqPutKVConfig, "", "namespace", "N", "key", fmt.Sprint(i), "value", "ä \"quoted\""))
		}
		call(t, r.conn, request(wire.ReqDeleteKVConfig, "", "namespace", "N", "key", "0"))
	})
	t.Run("read", func(t *testing.T) {
		r := start(t, Config{Dir: dir, FS: fs})
		if resp := call(t, r.conn, request(wire.ReqGetKVConfig, "", "namespace", "N", "key", "19")); resp.Ext.Value("value") != "ä \"quoted\"" {
			t.Errorf("value %q", resp.Ext.Value("value"))
		}
		if resp := call(t, r.conn, request(wire.ReqGetKVConfig, "", "namespace", "N", "key", "0")); resp.Code != wire.QueryNotFound {
			t.Errorf("a deleted item is back")
		}
	})
}

// brokenFS fails to create files.
type brokenFS struct{ vfs.FS }

var errDisk = errors.New("no space left on device")

func (brokenFS) Create(string) (vfs.File, error) { return nil, errDisk }

func TestKVThatCannotBeKeptIsRefused(t *testing.T) {
	r := start(t, Config{Dir: t.TempDir(), FS: brokenFS{vfs.OS()}})
	resp := call(t, r.conn, request(wire.ReqPutKVConfig, "", "namespace", "N", "key", "k", "value", "v"))
	if resp.Code != wire.SystemError || !strings.Contains(resp.Remark, errDisk.Error()) {
		t.Errorf("answer %d %q", resp.Code, resp.Remark)
	}
	if resp := call(t, r.conn, request(wire.ReqGetKVConfig, "", "namespace", "N", "key", "k")); resp.Code != wire.QueryNotFound {
		t.Errorf("the refused item is there")
	}
}

func TestTablesAreBounded(t *testing.T) {
	r := start(t, Config{Limits: Limits{Brokers: 1, Topics: 3, KVItems: 2, KVLength: 10}})
	r.register("broker-a", registration("broker-a", 1, 1, "A", "B"))
	for name, req := range map[string]*wire.Command{
		"broker": registration("broker-b", 1, 1, "A", "B"),
		"topics": registration("broker-a", 2, 1, "C", "D"),
		"length": request(wire.ReqPutKVConfig, "", "namespace", "N", "key", "k", "value", "too long a value"),
	} {
		if resp := call(t, r.conn, req); resp.Code != wire.SystemError || resp.Remark == "" {
			t.Errorf("%s: answer %d %q", name, resp.Code, resp.Remark)
		}
	}
	for i, want := range []int32{0, 0, 1} {
		if resp := call(t, r.conn, request(wire.ReqPutKVConfig, "", "namespace", "N", "key", fmt.Sprint(i), "value", "v")); resp.Code != want {
			t.Errorf("item %d: answer %d, want %d", i, resp.Code, want)
		}
	}
	r.wantRoute("A", wire.Success, "")
}

func TestUnknownCodeIsLoggedAndTheLinkKept(t *testing.T) {
	r := start(t, Config{})
	if resp := call(t, r.conn, request(31234, "")); resp.Code != wire.RequestCodeNotSupported || resp.Remark != " request type 31234 not supported" {
		t.Errorf("answer %d %q", resp.Code, resp.Remark)
	}
	if !r.log.has("level=WARN", "unknown code", "code=31234") {
		t.Error("no log line")
	}
	call(t, r.conn, request(wire.ReqGetBrokerClusterInfo, ""))
}

func TestTopicListsCanBeDisabled(t *testing.T) {
	r := start(t, Config{})
	call(t, r.conn, request(wire.ReqUpdateNamesrvConfig, "enableAllTopicList=false\nenableTopicList=false\n"))
	for _, code := range []int32{206, 224, 304, 311, 312, 313} {
		if resp := call(t, r.conn, request(code, "", "cluster", "C")); resp.Code != wire.SystemError || resp.Remark != "disable" {
			t.Errorf("%d: answer %d %q", code, resp.Code, resp.Remark)
		}
	}
	resp := call(t, r.conn, request(wire.ReqGetNamesrvConfig, ""))
	if !strings.Contains(string(resp.Body), "enableTopicList=false\n") || !strings.Contains(string(resp.Body), "orderMessageEnable=true\n") {
		t.Errorf("configuration:\n%s", resp.Body)
	}
}

func TestStartErrorsNameTheWayOut(t *testing.T) {
	r := start(t, Config{})
	second := New(Config{ListenAddr: r.Addr(), Listen: r.net.Host("ns").Listen})
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("port taken: %v", err)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	fs := vfs.OS()
	dir := t.TempDir()
	f, err := fs.Create(dir + "/" + kvFileName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("{broken"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	broken := New(Config{ListenAddr: "127.0.0.1:0", Dir: dir})
	if err := broken.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("broken file: %v", err)
	}
	if err := broken.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
