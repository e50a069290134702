// SPDX-License-Identifier: Apache-2.0

// Package java holds the tests that drive the published Java client of Apache
// RocketMQ against Orderly: alone, and in one group with the official Go client
// and with ours. The Java side is peer/*.java, built by build.sh; what its
// handlers do and when is told and recorded by the test.
package java
