// SPDX-License-Identifier: Apache-2.0

package header

// Opt is an optional field whose absence means something. The zero value is
// absent.
type Opt[T any] struct {
	Value T
	Set   bool
}

// Some returns a present field.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// Or returns the value, or def if it is absent.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.Value
	}
	return def
}
