// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/vfs"
)

// Files of a log:
//
//	LOCK                     held while the log is open
//	0000000000000001.log     segment; the name is the number of its first record
//	0000000000000100.snap    snapshot; the name is the number of the last record in it
//	*.tmp                    under construction, removed by Open
//	*.damaged                set aside; never read
const (
	lockName     = "LOCK"
	segmentExt   = ".log"
	snapshotExt  = ".snap"
	temporaryExt = ".tmp"
	damagedExt   = ".damaged"

	fileHeader    = 32
	segmentMagic  = "ORDCHLG1"
	snapshotMagic = "ORDSNAP1"
)

func fileName(seq uint64, ext string) string { return fmt.Sprintf("%016x%s", seq, ext) }

// parseName reads the number of a file name with this extension.
func parseName(name, ext string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, ext)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 16, 64)
	return seq, err == nil && fileName(seq, ext) == name
}

// listing is what a directory holds, each kind in order of numbers.
type listing struct {
	segments, snapshots []uint64
	temporary           []string
}

func list(fs vfs.FS, dir string) (listing, error) {
	names, err := fs.List(dir)
	if err != nil {
		return listing{}, fmt.Errorf("list change log: %w", err)
	}
	var l listing
	for _, name := range names {
		if seq, ok := parseName(name, segmentExt); ok {
			l.segments = append(l.segments, seq)
		} else if seq, ok := parseName(name, snapshotExt); ok {
			l.snapshots = append(l.snapshots, seq)
		} else if strings.HasSuffix(name, temporaryExt) {
			l.temporary = append(l.temporary, name)
		}
	}
	slices.Sort(l.segments)
	slices.Sort(l.snapshots)
	return l, nil
}

// appendFileHeader appends the header of a file.
func appendFileHeader(dst []byte, magic string, id, seq uint64) []byte {
	at := len(dst)
	dst = append(dst, magic...)
	dst = binary.BigEndian.AppendUint64(dst, id)
	dst = binary.BigEndian.AppendUint64(dst, seq)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	sum := crc32.Checksum(dst[at:], crc32.MakeTable(crc32.Castagnoli))
	return binary.BigEndian.AppendUint32(dst, sum)
}

// parseFileHeader reads a file's header; the error says what is wrong with it.
func parseFileHeader(b []byte, magic string) (id, seq uint64, err error) {
	switch {
	case len(b) < fileHeader:
		return 0, 0, fmt.Errorf("header is cut at byte %d", len(b))
	case string(b[:8]) != magic:
		return 0, 0, fmt.Errorf("header is not of this kind or version: %q", b[:8])
	case crc32.Checksum(b[:28], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b[28:]):
		return 0, 0, fmt.Errorf("checksum of the header differs")
	}
	return binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), nil
}

// readFile reads a whole file.
func readFile(fs vfs.FS, dir, name string) ([]byte, error) {
	f, err := fs.Open(path.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // only read from
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", name, err)
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b[:n], nil
}
