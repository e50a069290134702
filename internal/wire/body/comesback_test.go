// SPDX-License-Identifier: Apache-2.0

package body

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/orderlymq/orderly/internal/wire"
)

// TestComesBack: what Encode writes of any value, Decode reads.
func TestComesBack(t *testing.T) {
	seen := map[string]bool{}
	for _, fresh := range kinds() {
		name := strings.TrimPrefix(reflect.TypeOf(fresh()).String(), "*body.")
		if seen[name] {
			continue
		}
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := fresh()
				fill(t, reflect.ValueOf(b).Elem())
				encoded := b.Encode()
				got := fresh()
				fill(t, reflect.ValueOf(got).Elem()) // Decode must clear it
				if err := got.Decode(encoded); err != nil {
					t.Fatalf("%v in %s", err, encoded)
				}
				if d := cmp.Diff(b, got, cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("%s in %s", d, encoded)
				}
			})
		})
	}
}

// fill gives a value any content that its documentation allows.
func fill(t *rapid.T, v reflect.Value) {
	if v.Type() == reflect.TypeFor[wire.Language]() {
		v.SetUint(rapid.Uint64Range(0, 13).Draw(t, "language"))
		return
	}
	switch v.Kind() {
	case reflect.String: // not empty, and no number, which would be an ordinal
		v.SetString("x" + rapid.StringN(0, 8, -1).Draw(t, "text"))
	case reflect.Int32, reflect.Int64:
		n := rapid.Int64().Draw(t, "number")
		if v.OverflowInt(n) {
			n = int64(int32(n))
		}
		v.SetInt(n)
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1e18, 1e18).Draw(t, "float"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Pointer:
		v.SetZero()
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "items")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 2).Draw(t, "entries") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key)
			fill(t, value)
			v.SetMapIndex(key, value)
		}
	}
}
