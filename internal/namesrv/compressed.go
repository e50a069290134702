// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/wire/body"
)

// maxInflated bounds a registration after decompression.
const maxInflated = 64 << 20

// compressedBody reads a compressed registration: one zlib stream of
//
//	int32 length, data version as JSON
//	int32 number of topics, then for each:
//	    int32 length, text "name reads writes perm filterType {attributes}"
//	int32 length, filter servers as JSON            (not used)
//	int32 number of mappings, each int32 length, JSON  (version 413 on; not used)
func compressedBody(b []byte) (body.TopicConfigSerializeWrapper, error) {
	plain, err := inflate(b)
	if err != nil {
		return body.TopicConfigSerializeWrapper{}, fmt.Errorf("decompress the body: %w", err)
	}
	return plainBody(plain)
}

func plainBody(plain []byte) (body.TopicConfigSerializeWrapper, error) {
	var w body.TopicConfigSerializeWrapper
	in := parts{plain}
	version, err := in.text()
	if err != nil {
		return w, err
	}
	if err := w.DataVersion.Decode(version); err != nil {
		return w, err
	}
	n, err := in.count()
	if err != nil {
		return w, err
	}
	w.Topics = make(map[string]body.TopicConfig, n)
	for range n {
		line, err := in.text()
		if err != nil {
			return w, err
		}
		t, err := topicLine(string(line))
		if err != nil {
			return w, err
		}
		w.Topics[t.TopicName] = t
	}
	return w, nil
}

func inflate(b []byte) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxInflated+1))
	if err != nil {
		return nil, errors.Join(err, z.Close())
	}
	if len(plain) > maxInflated {
		return nil, fmt.Errorf("more than %d bytes when decompressed", maxInflated)
	}
	return plain, z.Close()
}

var errShortBody = errors.New("the compressed body ends too early")

// parts reads length-prefixed pieces.
type parts struct{ rest []byte }

func (p *parts) int() (int, error) {
	if len(p.rest) < 4 {
		return 0, errShortBody
	}
	n := int32(binary.BigEndian.Uint32(p.rest))
	p.rest = p.rest[4:]
	return int(n), nil
}

// count reads how many pieces follow, each at least a length.
func (p *parts) count() (int, error) {
	n, err := p.int()
	if err == nil && (n < 0 || n > len(p.rest)/4) {
		err = errShortBody
	}
	return n, err
}

func (p *parts) text() ([]byte, error) {
	n, err := p.int()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > len(p.rest) {
		return nil, errShortBody
	}
	text := p.rest[:n]
	p.rest = p.rest[n:]
	return text, nil
}

// topicLine reads "name reads writes perm filterType {attributes}"; the
// attributes may be missing.
func topicLine(line string) (body.TopicConfig, error) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 5 {
		return body.TopicConfig{}, fmt.Errorf("topic %.64q: want name, reads, writes, perm and filter type", line)
	}
	t := body.TopicConfig{TopicName: fields[0], TopicFilterType: fields[4]}
	for i, to := range []*int32{&t.ReadQueueNums, &t.WriteQueueNums, &t.Perm} {
		n, err := strconv.ParseInt(fields[i+1], 10, 32)
		if err != nil {
			return t, fmt.Errorf("topic %.64q: %w", line, err)
		}
		*to = int32(n)
	}
	if len(fields) == 6 && fields[5] != "" {
		if err := json.Unmarshal([]byte(fields[5]), &t.Attributes); err != nil {
			return t, fmt.Errorf("topic %.64q: attributes: %w", line, err)
		}
	}
	return t, nil
}
