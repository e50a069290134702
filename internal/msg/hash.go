// SPDX-License-Identifier: Apache-2.0

package msg

// KeyHash is the 32-bit hash of an ordering key that the queue index keeps: 0
// means no key. Its top 10 bits are the key's lane (route.Lane).
func KeyHash(key string) uint32 { return keyHash(key) }

// keyHash takes the high half of the 64-bit FNV-1a hash after one more
// multiplication, which spreads short keys over the top bits. See docs/lanes.md.
func keyHash[T string | []byte](key T) uint32 {
	if len(key) == 0 {
		return 0
	}
	h := uint64(0xcbf29ce484222325)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 0x100000001b3
	}
	if sum := uint32(h * 0x9E3779B97F4A7C15 >> 32); sum != 0 {
		return sum
	}
	return 1
}
