// SPDX-License-Identifier: Apache-2.0

package meta

// ExportTopics is the content of RocketMQ's config/topics.json.
func ExportTopics(v *View) []byte { return nil }

// ExportGroups is the content of RocketMQ's config/subscriptionGroup.json.
func ExportGroups(v *View) []byte { return nil }

// ExportOffsets is the content of RocketMQ's config/consumerOffset.json.
func ExportOffsets(v *View) []byte { return nil }
