// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"slices"

	"github.com/orderlymq/orderly/internal/route"
)

// Average gives each member one block of neighbouring queues; the first members
// get one more when the division has a rest. It is RocketMQ's default.
type Average struct{}

// Name implements Strategy.
func (Average) Name() string { return NameAverage }

// Allocate implements Strategy.
func (s Average) Allocate(group, self string, queues []route.MessageQueue, members []string) ([]route.MessageQueue, error) {
	queues, members, i, err := input(s.Name(), group, self, queues, members)
	if err != nil || i < 0 {
		return nil, err
	}
	size, rest := len(queues)/len(members), len(queues)%len(members)
	start := i*size + min(i, rest)
	if i < rest {
		size++
	}
	return slices.Clone(queues[start : start+size]), nil
}

// Circle deals the queues out one by one.
type Circle struct{}

// Name implements Strategy.
func (Circle) Name() string { return NameCircle }

// Allocate implements Strategy.
func (s Circle) Allocate(group, self string, queues []route.MessageQueue, members []string) ([]route.MessageQueue, error) {
	queues, members, i, err := input(s.Name(), group, self, queues, members)
	if err != nil || i < 0 {
		return nil, err
	}
	var out []route.MessageQueue
	for ; i < len(queues); i += len(members) {
		out = append(out, queues[i])
	}
	return out, nil
}

// Config gives this member a list that the user wrote down, whoever else is
// there.
type Config struct{ Queues []route.MessageQueue }

// Name implements Strategy.
func (Config) Name() string { return NameConfig }

// Allocate implements Strategy.
func (s Config) Allocate(string, string, []route.MessageQueue, []string) ([]route.MessageQueue, error) {
	return slices.Clone(s.Queues), nil
}
