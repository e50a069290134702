// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// settings are what UPDATE_NAMESRV_CONFIG can change while the server runs.
type settings struct {
	allTopicList *atomic.Bool // enableAllTopicList: 206
	topicList    *atomic.Bool // enableTopicList: the other lists
}

func newSettings() settings {
	s := settings{new(atomic.Bool), new(atomic.Bool)}
	s.allTopicList.Store(true)
	s.topicList.Store(true)
	return s
}

// fixed are the keys RocketMQ lets nobody change.
func fixed() []string { return []string{"configBlackList", "configStorePath", "kvConfigPath"} }

// updateConfig serves UPDATE_NAMESRV_CONFIG 318. Keys that cannot be changed
// while the server runs are ignored with a log line and answered 0, as
// RocketMQ does with keys it does not know.
func (s *Server) updateConfig(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	items := parseProperties(string(req.Body))
	for _, key := range fixed() {
		if _, found := items[key]; found {
			return wire.NewResponse(req, wire.NoPermission, "Can not update config in black list."), nil
		}
	}
	for key, value := range items {
		switch key {
		case "enableAllTopicList":
			s.settings.allTopicList.Store(value == "true")
		case "enableTopicList":
			s.settings.topicList.Store(value == "true")
		default:
			s.log.Warn("configuration key cannot be changed while the name server runs", "key", key)
			continue
		}
		s.log.Info("configuration changed", "key", key, "value", value)
	}
	return ok(req), nil
}

// getConfig serves GET_NAMESRV_CONFIG 319.
func (s *Server) getConfig(_ *transport.Conn, req *wire.Command) (*wire.Command, error) {
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return nil, fmt.Errorf("own address: %w", err)
	}
	items := map[string]string{
		"bindAddress":                       host,
		"configBlackList":                   strings.Join(fixed(), ";"),
		"deleteTopicWithBrokerRegistration": "false",
		"enableAllTopicList":                strconv.FormatBool(s.settings.allTopicList.Load()),
		"enableTopicList":                   strconv.FormatBool(s.settings.topicList.Load()),
		"listenPort":                        port,
		"needWaitForService":                "false",
		"orderMessageEnable":                "true",
		"returnOrderTopicConfigToBroker":    "true",
		"scanNotActiveBrokerInterval":       strconv.FormatInt(s.cfg.ScanInterval.Milliseconds(), 10),
		"supportActingMaster":               "false",
	}
	if s.cfg.Dir != "" {
		items["kvConfigPath"] = kvFile{s.cfg.FS, s.cfg.Dir}.name()
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(items)) {
		fmt.Fprintf(&text, "%s=%s\n", key, items[key])
	}
	return okBody(req, []byte(text.String())), nil
}

// parseProperties reads key=value lines; what is none is skipped.
func parseProperties(text string) map[string]string {
	items := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if found && !strings.HasPrefix(key, "#") {
			items[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return items
}
