// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"strings"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getBrokerConfig handles GET_BROKER_CONFIG 26: the configuration as lines
// key=value, by RocketMQ's names where there is one.
func (b *Broker) getBrokerConfig(r request) {
	var text strings.Builder
	for _, kv := range [][2]string{
		{"autoCreateSubscriptionGroup", fmt.Sprint(!b.cfg.DisableAutoCreateGroup)},
		{"autoCreateTopicEnable", fmt.Sprint(!b.cfg.DisableAutoCreateTopic)},
		{"brokerClusterName", b.cfg.Cluster},
		{"brokerId", "0"},
		{"brokerName", b.cfg.Name},
		{"brokerRole", "ASYNC_MASTER"},
		{"flushDiskType", map[string]string{"synced": "SYNC_FLUSH"}[b.cfg.SyncMode.String()]},
		{"listenAddr", b.cfg.ListenAddr},
		{"maxMessageSize", fmt.Sprint(b.cfg.MaxMessageSize)},
		{"maxQueuesOfTopic", fmt.Sprint(b.cfg.MaxQueues)},
		{"messageDelayLevel", "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"},
		{"namesrvAddr", strings.Join(b.cfg.NameServers, ";")},
		{"registerNameServerPeriod", fmt.Sprint(b.cfg.RegisterEvery.Milliseconds())},
		{"storePathRootDir", b.cfg.Dir},
	} {
		if kv[0] == "flushDiskType" && kv[1] == "" {
			kv[1] = "ASYNC_FLUSH"
		}
		fmt.Fprintf(&text, "%s=%s\n", kv[0], kv[1])
	}
	resp := wire.NewResponse(r.cmd, wire.Success, "")
	version := body.DataVersion{Timestamp: b.clock.start.UnixMilli()}
	h := header.GetBrokerConfigResponse{Version: string(version.Encode())}
	h.Encode(&resp.Ext)
	resp.Body = []byte(text.String())
	r.reply(resp)
}

// updateBrokerConfig handles UPDATE_BROKER_CONFIG 25. The configuration is the
// command line's and the file's; it does not change while the broker runs.
func (b *Broker) updateBrokerConfig(r request) {
	r.fail(wire.NoPermission, "Can not update config: this broker reads its configuration at the start, change its file and restart it")
}

// nothingToClean handles CLEAN_EXPIRED_CONSUMEQUEUE 306, CLEAN_UNUSED_TOPIC 316
// and DELETE_EXPIRED_COMMITLOG 329: the store does all that by itself.
func (b *Broker) nothingToClean(r request) { r.ok(nil) }

// getHAStatus handles GET_BROKER_HA_STATUS 907: there are no replicas.
func (b *Broker) getHAStatus(r request) {
	r.okBody((&body.HAStatus{Master: true, MasterCommitLogMaxOffset: b.store.Positions().Committed}).Encode())
}
