// SPDX-License-Identifier: Apache-2.0

// Package lint holds the house rules that a machine can check: who may import
// whom, which calls the pure packages must not make, which dependencies are
// allowed and why, and that no file names a machine's paths. Everything is a
// test; the package itself is empty.
package lint
