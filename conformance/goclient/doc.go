// SPDX-License-Identifier: Apache-2.0

// Package goclient holds the tests that drive the official Go client of Apache
// RocketMQ against Orderly, alone and beside Orderly's own client. The official
// client is used as a package, unchanged.
package goclient
