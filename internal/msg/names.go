// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of names and messages.
const (
	MaxTopic      = 127
	MaxLongTopic  = 255 // retry and dead-letter topics
	MaxGroup      = 120
	MaxBody       = 4 << 20 // default limit of a body
	MaxQueueCount = 65536   // queues of one topic, all brokers together; ours, not the protocol's
)

// Prefixes and names with a meaning.
const (
	RetryPrefix       = "%RETRY%"
	DLQPrefix         = "%DLQ%"
	LMQPrefix         = "%LMQ%"
	SystemTopicPrefix = "rmq_sys_"
	SystemGroupPrefix = "CID_RMQ_SYS_"
	ReplyTopicSuffix  = "_REPLY_TOPIC"

	TopicAutoCreate   = "TBW102" // template of created topics
	TopicSelfTest     = "SELF_TEST_TOPIC"
	TopicBenchmark    = "BenchmarkTest"
	TopicOffsetMoved  = "OFFSET_MOVED_EVENT"
	TopicSchedule     = "SCHEDULE_TOPIC_XXXX"
	TopicHalf         = "RMQ_SYS_TRANS_HALF_TOPIC"
	TopicHalfOp       = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
	TopicCheckMaxTime = "TRANS_CHECK_MAX_TIME_TOPIC"
	TopicTrace        = "RMQ_SYS_TRACE_TOPIC"
	TopicCheckpoint   = "CHECKPOINT_TOPIC"
	TopicTimer        = "rmq_sys_wheel_timer"

	GroupDefaultProducer = "DEFAULT_PRODUCER"
	GroupDefaultConsumer = "DEFAULT_CONSUMER"
	GroupTools           = "TOOLS_CONSUMER"
	GroupInnerProducer   = "CLIENT_INNER_PRODUCER"

	// OrderConfigNamespace is where the name server keeps ordered-topic
	// configurations, by topic.
	OrderConfigNamespace = "ORDER_TOPIC_CONFIG"
)

// ErrName marks a name that breaks the rules, to be tested with errors.Is.
var ErrName = errors.New("invalid name")

// CheckTopic checks the name of a topic: not blank, letters, digits and %|_- only,
// at most 127 bytes; 255 for retry and dead-letter topics.
func CheckTopic(name string) error {
	limit := MaxTopic
	if strings.HasPrefix(name, RetryPrefix) || strings.HasPrefix(name, DLQPrefix) {
		limit = MaxLongTopic
	}
	return checkName("topic", name, limit)
}

// CheckGroup checks the name of a consumer or producer group: the same letters,
// at most 120 bytes.
func CheckGroup(name string) error { return checkName("group", name, MaxGroup) }

// CheckClientGroup is CheckGroup for a group that a client starts with, which
// must not be one of the default names.
func CheckClientGroup(name string) error {
	if name == GroupDefaultProducer || name == GroupDefaultConsumer {
		return fmt.Errorf("group %q is a default name: choose your own: %w", name, ErrName)
	}
	return CheckGroup(name)
}

func checkName(what, name string, limit int) error {
	if strings.TrimSpace(name) == "" {
		return fmt.Errorf("the %s is blank: give a name: %w", what, ErrName)
	}
	if len(name) > limit {
		return fmt.Errorf("the %s is %d bytes long, at most %d: shorten it: %w", what, len(name), limit, ErrName)
	}
	for i, r := range name {
		if !nameRune(r) {
			return fmt.Errorf("the %s %q has %q at byte %d, allowed are letters, digits and %%|_-: %w", what, name, r, i, ErrName)
		}
	}
	return nil
}

func nameRune(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return r == '%' || r == '|' || r == '_' || r == '-'
}

// IsSystemTopic reports whether the topic belongs to the broker itself. Topics
// that are named after a cluster or a broker the caller has to know.
func IsSystemTopic(name string) bool {
	switch name {
	case TopicAutoCreate, TopicSchedule, TopicBenchmark, TopicHalf, TopicTrace, TopicHalfOp,
		TopicCheckMaxTime, TopicSelfTest, TopicOffsetMoved, TopicCheckpoint:
		return true
	}
	return strings.HasPrefix(name, SystemTopicPrefix)
}

// Sendable reports whether clients may send to the topic.
func Sendable(name string) bool {
	switch name {
	case TopicSchedule, TopicHalf, TopicHalfOp, TopicCheckMaxTime, TopicSelfTest, TopicOffsetMoved:
		return false
	}
	return true
}

// IsSystemGroup reports whether the group is predefined.
func IsSystemGroup(name string) bool {
	return strings.HasPrefix(name, SystemGroupPrefix) || slices.Contains(predefinedGroups(), name)
}

func predefinedGroups() []string {
	return []string{
		GroupDefaultConsumer, GroupDefaultProducer, GroupTools, "SCHEDULE_CONSUMER", "FILTERSRV_CONSUMER",
		"__MONITOR_CONSUMER", GroupInnerProducer, "SELF_TEST_P_GROUP", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY",
		"CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", "CID_ONSAPI_PULL", "CID_RMQ_SYS_TRANS",
	}
}

// RetryTopic is where messages go that the group could not handle yet.
func RetryTopic(group string) string { return RetryPrefix + group }

// DLQTopic is where messages go that the group gave up.
func DLQTopic(group string) string { return DLQPrefix + group }

// RetryGroup returns the group of a retry topic.
func RetryGroup(topic string) (string, bool) { return strings.CutPrefix(topic, RetryPrefix) }

// DLQGroup returns the group of a dead-letter topic.
func DLQGroup(topic string) (string, bool) { return strings.CutPrefix(topic, DLQPrefix) }
