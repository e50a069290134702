// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package vfs

import "os"

const openFlags = 0

func osInfo(fi os.FileInfo) Info {
	return Info{Size: fi.Size(), Dir: fi.IsDir(), ModTime: fi.ModTime()}
}

// Only systems with flock can keep a second process out.
func lockFile(*os.File) error { return nil }

func isLocked(error) bool { return false }

func diskUsage(string) (Usage, error) { return Usage{}, ErrUnsupported }

func syncDirHandle(*os.File) error { return nil }
