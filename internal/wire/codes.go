// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"strconv"
)

type codeName struct {
	code int32
	name string
}

// RequestName returns RocketMQ's name of a request code, or its digits.
func RequestName(code int32) string { return nameOf(requestNames[:], code) }

// ResponseName returns RocketMQ's name of a response code, or its digits.
func ResponseName(code int32) string { return nameOf(responseNames[:], code) }

// KnownRequest says whether the code is in the table of request codes.
func KnownRequest(code int32) bool {
	_, ok := findCode(requestNames[:], code)
	return ok
}

func nameOf(table []codeName, code int32) string {
	if i, ok := findCode(table, code); ok {
		return table[i].name
	}
	return strconv.Itoa(int(code))
}

func findCode(table []codeName, code int32) (int, bool) {
	return slices.BinarySearchFunc(table, code, func(c codeName, code int32) int {
		return int(c.code) - int(code)
	})
}
