// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"context"
	"errors"
	"io/fs"
)

// Read reads the log in o.Dir into m, checking every byte that matters, and
// changes nothing on disk. It takes no lock and may run beside a broker; it
// then sees the log as of some moment, without what is just being written. It
// answers a *DamageError as Open does.
func Read(ctx context.Context, o Options, m Machine) (Recovery, error) {
	o = o.withDefaults()
	o.Repair, o.readOnly = false, true
	const tries = 5
	var err error
	for range tries {
		var f found
		f, err = recoverDir(ctx, o, m)
		if err == nil {
			return f.Recovery, nil
		}
		// A broker that runs removes old files, and begins new ones after the
		// directory was listed.
		if !errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(*DamageError)) {
			break
		}
	}
	return Recovery{}, err
}
