// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// DefaultDelayLevels is RocketMQ's table of delay levels 1 to 18.
const DefaultDelayLevels = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

const maxDelayLevels = 256

// DelayLevels holds the delays of levels 1, 2, ... at places 0, 1, ...
type DelayLevels []time.Duration

// ParseDelayLevels reads a table as brokers are configured with: numbers with
// the units s, m, h and d, separated by spaces.
func ParseDelayLevels(s string) (DelayLevels, error) {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > maxDelayLevels {
		return nil, fmt.Errorf("delay levels: %d of them, need 1 to %d", len(words), maxDelayLevels)
	}
	out := make(DelayLevels, len(words))
	for i, w := range words {
		var unit time.Duration
		switch w[len(w)-1] {
		case 's':
			unit = time.Second
		case 'm':
			unit = time.Minute
		case 'h':
			unit = time.Hour
		case 'd':
			unit = 24 * time.Hour
		default:
			return nil, fmt.Errorf("delay levels: %q: need a number with unit s, m, h or d", w)
		}
		n, err := strconv.ParseInt(w[:len(w)-1], 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
			return nil, fmt.Errorf("delay levels: %q: need a number with unit s, m, h or d", w)
		}
		out[i] = time.Duration(n) * unit
	}
	return out, nil
}

// Clamp returns the level that a message with this level really gets: levels
// above the table are the last one, 0 and below mean no delay.
func (d DelayLevels) Clamp(level int) int { return max(0, min(level, len(d))) }

// Delay returns the delay of a level, after Clamp; 0 for no delay.
func (d DelayLevels) Delay(level int) time.Duration {
	if level = d.Clamp(level); level == 0 {
		return 0
	}
	return d[level-1]
}

// DelayLevel returns the delay level that a property string asks for, 0 if none.
func DelayLevel(properties string) int {
	s, _ := Property(properties, PropDelay)
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
