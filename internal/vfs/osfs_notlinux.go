// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package vfs

import "os"

func syncData(f *os.File) error { return f.Sync() }

func allocate(*os.File, int64, int64) error { return ErrUnsupported }

func nextData(_ osFile, off int64) (int64, error) { return off, nil }

func bootID() string { return "" }
