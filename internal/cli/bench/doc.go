// SPDX-License-Identifier: Apache-2.0

// Package bench runs the benchmarks of `orderly bench`: a server as a process
// of its own (or one that runs already) under the load of package load, and the
// storage engine beside what the disk can do.
//
// What is promised: every run is bounded, names its durability mode, and leaves
// neither processes nor files behind; figures that belong together come from
// one run, taken in turn, so that a busy machine disturbs all of them alike.
package bench
