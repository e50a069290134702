// SPDX-License-Identifier: Apache-2.0

package body

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/wire"
)

// The compressed form of RegisterBroker is one zlib stream: the data version,
// the number of topics and each topic, the list of filter servers, and from
// VersionTopicMapping on the number of static topics and each of them. Every
// text has an int32 length before it.

// maxInflated bounds what a compressed body may grow to.
const maxInflated = wire.MaxFrame

// DecodeRegisterBroker reads the body of a REGISTER_BROKER 103: version is the
// frame's, compressed the ext field's value. Brokers before VersionRegisterBody
// send the topics alone.
func DecodeRegisterBroker(data []byte, version int32, compressed bool) (*RegisterBroker, error) {
	b := new(RegisterBroker)
	switch {
	case compressed:
		return b, b.DecodeCompressed(data)
	case version < wire.VersionRegisterBody:
		return b, b.Topics.Decode(data)
	}
	return b, b.Decode(data)
}

// EncodeCompressed returns the compressed body, with the mapping part if the
// receiver's version asks for it.
func (b *RegisterBroker) EncodeCompressed(withMapping bool) ([]byte, error) {
	var plain []byte
	add := func(text []byte) {
		plain = binary.BigEndian.AppendUint32(plain, uint32(len(text)))
		plain = append(plain, text...)
	}
	add(b.Topics.DataVersion.Encode())
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(b.Topics.Topics)))
	for _, name := range slices.Sorted(maps.Keys(b.Topics.Topics)) {
		t := b.Topics.Topics[name]
		add(t.line())
	}
	add(encode(func(w *writer) { w.strings(b.FilterServers) }))
	if withMapping {
		plain = binary.BigEndian.AppendUint32(plain, 0)
	}
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	if _, err := z.Write(plain); err != nil {
		return nil, fmt.Errorf("compress broker registration: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress broker registration: %w", err)
	}
	return out.Bytes(), nil
}

// line returns a topic as text: name, queue numbers, perm, filter type,
// attributes.
func (t *TopicConfig) line() []byte {
	var w writer
	w.b = fmt.Appendf(w.b, "%s %d %d %d %s ", t.TopicName, t.ReadQueueNums, t.WriteQueueNums, t.Perm,
		orDefault(t.TopicFilterType, defaultFilterType))
	w.b = append(w.b, encode(func(w *writer) {
		w.open('{')
		for _, k := range sortedKeys(t.Attributes) {
			w.keyStr(k, t.Attributes[k])
		}
		w.close('}')
	})...)
	return w.b
}

// DecodeCompressed reads the compressed body. The mapping part is not kept.
func (b *RegisterBroker) DecodeCompressed(data []byte) error {
	*b = RegisterBroker{}
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%w: compressed broker registration: %w", ErrMalformed, err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxInflated+1))
	if err != nil {
		return fmt.Errorf("%w: compressed broker registration: %w", ErrMalformed, err)
	}
	if len(plain) > maxInflated {
		return fmt.Errorf("%w: compressed broker registration above %d bytes", ErrMalformed, maxInflated)
	}
	return b.readParts(&parts{plain})
}

func (b *RegisterBroker) readParts(p *parts) error {
	version, ok := p.text()
	if !ok {
		return fmt.Errorf("%w: registration without data version", ErrMalformed)
	}
	if err := b.Topics.DataVersion.Decode(version); err != nil {
		return err
	}
	n, _ := p.number()
	b.Topics.Topics = map[string]TopicConfig{}
	for range n {
		line, ok := p.text()
		if !ok {
			return fmt.Errorf("%w: %d topics announced, %d there", ErrMalformed, n, len(b.Topics.Topics))
		}
		var t TopicConfig
		if err := t.parseLine(string(line)); err != nil {
			return err
		}
		b.Topics.Topics[t.TopicName] = t
	}
	filters, ok := p.text()
	if !ok {
		return nil
	}
	return decode("filter servers", filters, func(r *reader) { b.FilterServers = r.strings() })
}

func (t *TopicConfig) parseLine(line string) error {
	*t = TopicConfig{TopicFilterType: defaultFilterType}
	f := strings.SplitN(line, " ", 6)
	if len(f) < 4 {
		return fmt.Errorf("%w: topic line %.60q", ErrMalformed, line)
	}
	t.TopicName = f[0]
	for i, dst := range []*int32{&t.ReadQueueNums, &t.WriteQueueNums, &t.Perm} {
		n, err := strconv.ParseInt(f[i+1], 10, 32)
		if err != nil {
			return fmt.Errorf("%w: topic line %.60q: %q is no number", ErrMalformed, line, f[i+1])
		}
		*dst = int32(n)
	}
	if len(f) > 4 {
		t.TopicFilterType = f[4]
	}
	if len(f) < 6 || f[5] == "" {
		return nil
	}
	return decode("topic attributes", []byte(f[5]), func(r *reader) { t.Attributes = r.stringMap() })
}

// parts takes numbers and texts off a decompressed body.
type parts struct{ rest []byte }

func (p *parts) number() (int32, bool) {
	if len(p.rest) < 4 {
		return 0, false
	}
	n := int32(binary.BigEndian.Uint32(p.rest))
	p.rest = p.rest[4:]
	return n, true
}

func (p *parts) text() ([]byte, bool) {
	n, ok := p.number()
	if !ok || n < 0 || int(n) > len(p.rest) {
		return nil, false
	}
	text := p.rest[:n]
	p.rest = p.rest[n:]
	return text, true
}
