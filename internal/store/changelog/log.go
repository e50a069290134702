// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"context"
	"errors"
)

// Log is an open change log.
type Log struct{}

// Open recovers the log in o.Dir into m, creating it if there is none.
func Open(ctx context.Context, o Options, m Machine) (*Log, error) {
	return nil, errors.ErrUnsupported
}
