// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
)

// brokerConf is what a broker.conf of RocketMQ says that means something here.
type brokerConf struct {
	brokerName, clusterName string
	listenPort              int
	advertiseIP             string
	namesrv                 string
	data                    string
	segmentSize             int64
	asyncDisk               bool
	noAutoTopic             bool
	noAutoGroup             bool
}

// ignoredKeys are known to RocketMQ and have no counterpart here; files that
// set them work as they are.
var ignoredKeys = map[string]string{
	"brokerId":         "there is no replication yet",
	"deleteWhen":       "clean-up runs when it is needed",
	"fileReservedTime": "not yet configurable: 72 hours",
}

// readBrokerConf reads a properties file. Keys that mean nothing here are
// logged and ignored, so that a file of an existing broker can be used; values
// that cannot be read are refused.
func readBrokerConf(path string, log *slog.Logger) (brokerConf, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return brokerConf{}, fmt.Errorf("--config: %w", err)
	}
	var c brokerConf
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) { // editors of Windows put it there
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return c, fmt.Errorf("--config: %s line %d: %q is not of the form key=value", path, n, line)
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		known, err := c.set(key, value)
		if err != nil {
			return c, fmt.Errorf("--config: %s line %d: %s: %w", path, n, key, err)
		}
		if !known {
			log.Warn("broker.conf key ignored", "key", key, "reason", cmp.Or(ignoredKeys[key], "it has no counterpart here"))
		}
	}
	return c, nil
}

// set takes one key; known is false if the key means nothing here.
func (c *brokerConf) set(key, value string) (known bool, err error) {
	switch key {
	case "brokerName":
		c.brokerName = value
	case "brokerClusterName":
		c.clusterName = value
	case "brokerIP1":
		if strings.ContainsAny(value, " \t/:") && net.ParseIP(value) == nil {
			return true, fmt.Errorf("%q is no host: give a name or an address without port", value)
		}
		c.advertiseIP = value
	case "namesrvAddr":
		c.namesrv = value
	case "storePathRootDir":
		c.data = value
	case "listenPort":
		c.listenPort, err = strconv.Atoi(value)
		if err != nil || c.listenPort < 0 || c.listenPort > 65535 {
			return true, fmt.Errorf("%q is no port: use 0 to 65535", value)
		}
	case "mappedFileSizeCommitLog", "mapedFileSizeCommitLog":
		c.segmentSize, err = strconv.ParseInt(value, 10, 64)
		if err != nil {
			return true, fmt.Errorf("%q is no number of bytes", value)
		}
		if c.segmentSize < 1<<20 || c.segmentSize > math.MaxInt32 {
			return true, fmt.Errorf("%s bytes: use 1048576 to 2147483647", value)
		}
	case "flushDiskType":
		switch value {
		case "SYNC_FLUSH":
			c.asyncDisk = false
		case "ASYNC_FLUSH":
			c.asyncDisk = true
		default:
			return true, fmt.Errorf("%q: use SYNC_FLUSH or ASYNC_FLUSH", value)
		}
	case "autoCreateTopicEnable":
		c.noAutoTopic, err = negated(value)
	case "autoCreateSubscriptionGroup":
		c.noAutoGroup, err = negated(value)
	case "brokerRole":
		if value != "ASYNC_MASTER" && value != "SYNC_MASTER" {
			return true, fmt.Errorf("%q: there is no replication yet; use ASYNC_MASTER", value)
		}
	default:
		return false, nil
	}
	return true, err
}

func negated(value string) (bool, error) {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%q: use true or false", value)
	}
	return !b, nil
}

// advertise is the host:port that clients are told, if the file names a host.
func (c brokerConf) advertise(listen string) string {
	if c.advertiseIP == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(c.advertiseIP, port)
}
