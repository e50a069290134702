// SPDX-License-Identifier: Apache-2.0

//go:build !race

package orderly

const simDefault = 20
