// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// CompressThreshold is the size from which clients compress a body.
const CompressThreshold = 4096

// ErrTooBig: a body is larger than the limit once decompressed.
var ErrTooBig = errors.New("body is larger than the limit")

// Codec compresses and decompresses bodies and keeps the buffers that this takes
// for the next time. The zero value is ready; it is safe for concurrent use.
type Codec struct {
	zlibWriters, zlibReaders sync.Pool
	lz4Writers, lz4Readers   sync.Pool
	zstdReaders              sync.Pool
}

// zlibLevel is what RocketMQ's clients use.
const zlibLevel = 5

// Compress appends the compressed form of body to dst.
func (c *Codec) Compress(dst, body []byte, how Compression) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	var err error
	switch how {
	case None:
		return append(dst, body...), nil
	case Zlib:
		err = c.writeZlib(out, body)
	case LZ4:
		err = c.writeLZ4(out, body)
	case Zstd:
		err = writeZstd(out, body)
	default:
		err = fmt.Errorf("type %d is unknown", how)
	}
	if err != nil {
		return dst, fmt.Errorf("compress body (%v): %w", how, err)
	}
	return out.Bytes(), nil
}

func (c *Codec) writeZlib(out io.Writer, body []byte) error {
	w, ok := c.zlibWriters.Get().(*zlib.Writer)
	if !ok {
		var err error
		if w, err = zlib.NewWriterLevel(out, zlibLevel); err != nil {
			return err
		}
	}
	defer c.zlibWriters.Put(w)
	w.Reset(out)
	return writeAll(w, body)
}

// writeLZ4 uses independent blocks of 4 MiB, no content size and no check sum, as
// Java does.
func (c *Codec) writeLZ4(out io.Writer, body []byte) error {
	w, ok := c.lz4Writers.Get().(*lz4.Writer)
	if !ok {
		w = lz4.NewWriter(out)
		if err := w.Apply(lz4.ChecksumOption(false), lz4.ConcurrencyOption(1)); err != nil {
			return err
		}
	}
	defer c.lz4Writers.Put(w)
	w.Reset(out)
	return writeAll(w, body)
}

func writeZstd(out io.Writer, body []byte) error {
	w, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	return writeAll(w, body)
}

func writeAll(w io.WriteCloser, body []byte) error {
	if _, err := w.Write(body); err != nil {
		return errors.Join(err, w.Close())
	}
	return w.Close()
}

// Decompress returns the plain form of body, of at most limit bytes.
func (c *Codec) Decompress(body []byte, how Compression, limit int) ([]byte, error) {
	var plain []byte
	var err error
	switch how {
	case None:
		if plain = body; len(body) > limit {
			err = ErrTooBig
		}
	case Zlib:
		plain, err = c.readZlib(body, limit)
	case LZ4:
		plain, err = c.readLZ4(body, limit)
	case Zstd:
		plain, err = c.readZstd(body, limit)
	default:
		err = fmt.Errorf("type %d is unknown", how)
	}
	if errors.Is(err, ErrTooBig) {
		err = fmt.Errorf("more than %d bytes: %w", limit, ErrTooBig)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress body (%v): %w", how, err)
	}
	return plain, nil
}

// Plain returns the body as the sender gave it, decompressed if its sysFlag says
// that it is compressed.
func (c *Codec) Plain(m *Message, limit int) ([]byte, error) {
	return c.Decompress(m.Body, CompressionOf(m.SysFlag), limit)
}

func (c *Codec) readZlib(body []byte, limit int) ([]byte, error) {
	src := bytes.NewReader(body)
	r, ok := c.zlibReaders.Get().(io.Reader)
	if ok {
		if err := r.(zlib.Resetter).Reset(src, nil); err != nil {
			return nil, err
		}
	} else {
		fresh, err := zlib.NewReader(src)
		if err != nil {
			return nil, err
		}
		r = fresh
	}
	defer c.zlibReaders.Put(r)
	return readAll(r, len(body), limit)
}

func (c *Codec) readLZ4(body []byte, limit int) ([]byte, error) {
	src := bytes.NewReader(body)
	r, ok := c.lz4Readers.Get().(*lz4.Reader)
	if !ok {
		r = lz4.NewReader(src)
		if err := r.Apply(lz4.ConcurrencyOption(1)); err != nil {
			return nil, err
		}
	}
	defer c.lz4Readers.Put(r)
	r.Reset(src)
	return readAll(r, len(body), limit)
}

// maxZstdWindow bounds what one frame may make the reader keep.
const maxZstdWindow = 8 << 20

func (c *Codec) readZstd(body []byte, limit int) ([]byte, error) {
	src := bytes.NewReader(body)
	r, ok := c.zstdReaders.Get().(*zstd.Decoder)
	if ok {
		if err := r.Reset(src); err != nil {
			return nil, err
		}
	} else {
		fresh, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		r = fresh
	}
	defer c.zstdReaders.Put(r)
	return readAll(r, len(body), limit)
}

// readAll reads to the end, but not past the limit.
func readAll(r io.Reader, size, limit int) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(min(3*size, limit) + bytes.MinRead)
	n, err := out.ReadFrom(io.LimitReader(r, int64(limit)+1))
	if n > int64(limit) {
		return nil, ErrTooBig
	}
	return out.Bytes(), err
}
