// SPDX-License-Identifier: Apache-2.0

package msg

// Bits of Message.SysFlag.
const (
	FlagCompressed      int32 = 0x1
	FlagMultiTags       int32 = 0x2
	FlagPrepared        int32 = 0x4 // transaction type: half message
	FlagCommit          int32 = 0x8
	FlagRollback        int32 = 0xc
	FlagTransactionMask int32 = 0xc
	FlagBornHostV6      int32 = 0x10 // born host takes 16 bytes
	FlagStoreHostV6     int32 = 0x20
	FlagNeedUnwrap      int32 = 0x40
	FlagInnerBatch      int32 = 0x80
	FlagCompressionMask int32 = 0x700
	compressionShift          = 8
)

// Compression names how a body is compressed; the numbers are those of the
// sysFlag field.
type Compression int32

// Ways to compress. None is ours; on the wire it is a flag that is not set.
const (
	None Compression = 0
	LZ4  Compression = 1
	Zstd Compression = 2
	Zlib Compression = 3
)

func (c Compression) String() string {
	switch c {
	case None:
		return "none"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	case Zlib:
		return "zlib"
	}
	return "unknown"
}

// CompressionOf says how a body with this sysFlag is compressed. Old clients set
// no type and mean zlib.
func CompressionOf(sysFlag int32) Compression {
	if sysFlag&FlagCompressed == 0 {
		return None
	}
	if c := Compression(sysFlag & FlagCompressionMask >> compressionShift); c != 0 {
		return c
	}
	return Zlib
}

// WithCompression returns sysFlag with its compression bits set for c.
func WithCompression(sysFlag int32, c Compression) int32 {
	sysFlag &^= FlagCompressed | FlagCompressionMask
	if c == None {
		return sysFlag
	}
	return sysFlag | FlagCompressed | int32(c)<<compressionShift&FlagCompressionMask
}
