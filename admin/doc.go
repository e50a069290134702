// SPDX-License-Identifier: Apache-2.0

// Package admin looks into a cluster and changes it: topics, groups, who holds
// which queue and how far it has come. The command line and every console use
// only this package. It speaks the Apache RocketMQ admin requests, so it works
// against a stock cluster too; what only Orderly knows is empty there.
package admin
