// SPDX-License-Identifier: Apache-2.0

package wire

import "strconv"

// Version is what we report: the ordinal of release 5.3.3 in Java's list
// MQVersion. It has to be >= 401 (a name server then answers strict JSON
// routes), >= 232 in heartbeat answers (else Java push consumers refuse SQL92)
// and <= 32767 (the Go client reads an int16).
const Version int32 = 479

// Versions from which a peer behaves differently.
const (
	VersionConsumerStatus int32 = 28  // the consumer answers 221 and 220
	VersionRegisterBody   int32 = 37  // 103 carries a RegisterBrokerBody
	VersionConsumerInfo   int32 = 62  // the consumer answers 307 and 309
	VersionMaxReconsume   int32 = 121 // 36 and sends to %RETRY% name maxReconsumeTimes
	VersionStrictJSON     int32 = 401 // 105 wants quoted map keys
	VersionTopicMapping   int32 = 413 // a compressed 103 has the mapping part
	VersionGoAway         int32 = 476 // the client understands response code 1500
)

// Bounds of MQVersion for releases whose ordinal follows a formula:
// 4.m.p is 213+20m+2p, 5.m.p is 413+20m+2p; a snapshot is one less.
const (
	version40   = 213
	version50   = 413
	versionHigh = 612
)

// VersionName returns Java's name of a version ordinal, such as V5_3_3, or its
// digits for ordinals before 4.0.0.
func VersionName(v int32) string {
	suffix := ""
	if v >= version40-1 && v%2 == 0 {
		v++
		suffix = "_SNAPSHOT"
	}
	switch {
	case v < version40:
		return strconv.Itoa(int(v))
	case v >= versionHigh:
		return "HIGHER_VERSION"
	case v < version50:
		return versionName(4, v-version40) + suffix
	}
	return versionName(5, v-version50) + suffix
}

func versionName(major int, d int32) string {
	return "V" + strconv.Itoa(major) + "_" + strconv.Itoa(int(d/20)) + "_" + strconv.Itoa(int(d%20/2))
}
