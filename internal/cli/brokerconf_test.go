// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBrokerConf(t *testing.T) {
	read := func(text string) (brokerConf, string, error) {
		path := filepath.Join(t.TempDir(), "broker.conf")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		c, err := readBrokerConf(path, slog.New(slog.NewTextHandler(&log, nil)))
		return c, log.String(), err
	}
	t.Run("a usual file", func(t *testing.T) {
		c, log, err := read("# comment\nbrokerClusterName = DefaultCluster\nbrokerName=broker-b\nbrokerId=0\n" +
			"brokerIP1=127.0.0.1\nlistenPort=10921\nflushDiskType=ASYNC_FLUSH\nautoCreateTopicEnable=false\nsendMessageThreadPoolNums=16\nmappedFileSizeCommitLog=16777216\n")
		want := brokerConf{
			clusterName: "DefaultCluster", brokerName: "broker-b", advertiseIP: "127.0.0.1", listenPort: 10921,
			asyncDisk: true, noAutoTopic: true, segmentSize: 16 << 20,
		}
		if err != nil || c != want {
			t.Errorf("got %+v, %v", c, err)
		}
		for _, want := range []string{"key=brokerId", "no replication", "key=sendMessageThreadPoolNums", "no counterpart"} {
			if !strings.Contains(log, want) {
				t.Errorf("no %s in what is logged of ignored keys: %s", want, log)
			}
		}
	})
	for _, bad := range []string{"listenPort=eighty", "listenPort=70000", "flushDiskType=MAYBE", "autoCreateTopicEnable=perhaps", "brokerRole=SLAVE", "no equals sign", "brokerIP1=not a host", "brokerIP1=10.0.0.1:10911", "mappedFileSizeCommitLog=7", "mappedFileSizeCommitLog=9999999999"} {
		t.Run(bad, func(t *testing.T) {
			if _, _, err := read("brokerName=a\n" + bad + "\n"); err == nil || !strings.Contains(err.Error(), "line 2") {
				t.Errorf("err = %v, want one that names line 2", err)
			}
		})
	}
	t.Run("a byte order mark", func(t *testing.T) {
		if c, _, err := read("\ufeff# comment\r\nbrokerName = b\r\nbrokerIP1=::1\r\n"); err != nil || c.brokerName != "b" || c.advertiseIP != "::1" {
			t.Errorf("got %+v, %v", c, err)
		}
	})
	t.Run("a missing file", func(t *testing.T) {
		if _, err := readBrokerConf(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler)); err == nil {
			t.Error("no error")
		}
	})
}
