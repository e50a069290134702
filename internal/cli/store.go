// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/vfs"
)

// errNotSound makes a verification that found something exit with a status.
var errNotSound = errors.New("the store is not sound: see the findings")

func (a *app) storeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Look into a data directory, of a stopped or a running server",
		Long: `Looks into a data directory. All but restored change nothing in it and do not take
its lock, so that they may run beside the server. What they then see is some state
between their start and their end.`,
	}
	cmd.AddCommand(a.storeInspect(), a.storeVerify(), a.storeDump(), a.storeRestored())
	return cmd
}

// dataFlags is the flags of the commands that look into a data directory.
type dataFlags struct {
	data string
	json bool
}

func (d *dataFlags) flags(f *pflag.FlagSet, jsonHelp string) {
	f.StringVar(&d.data, "data", defaultData, "data directory of a server, or the message store in it")
	f.BoolVar(&d.json, "json", false, jsonHelp)
}

// parts returns where messages and broker state are. The state is "" if the
// directory is a message store alone.
func (d *dataFlags) parts() (messages, state string, err error) {
	if _, err := os.Stat(d.data); err != nil {
		return "", "", fmt.Errorf("--data: %w: name the directory that the server was given", err)
	}
	messages, state = filepath.Join(d.data, "store"), filepath.Join(d.data, "meta")
	if !isDir(messages) {
		return d.data, "", nil
	}
	if !isDir(state) {
		state = ""
	}
	return messages, state, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// inspection is the answer of `store inspect`.
type inspection struct {
	*store.Inspection
	State *stateInfo `json:"state"` // nil: the directory holds messages alone
}

func (a *app) storeInspect() *cobra.Command {
	var d dataFlags
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show files, queues and what the last checkpoint says",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			messages, state, err := d.parts()
			if err != nil {
				return err
			}
			in, err := store.Inspect(cmd.Context(), vfs.OS(), messages)
			if err != nil {
				return err
			}
			out := inspection{Inspection: in}
			if state != "" {
				if out.State, err = readState(cmd.Context(), state); err != nil {
					return err
				}
			}
			if d.json {
				return a.printJSON(out)
			}
			return a.printInspection(out)
		},
	}
	d.flags(cmd.Flags(), "print JSON")
	return cmd
}

func (a *app) printInspection(in inspection) error {
	fmt.Fprintf(a.stdout, "log %s  range [%d, %d)  durable to %d  %d messages  files of %s\n",
		in.Dir, in.Start, in.End, in.Durable, in.Messages, byteCount(in.SegmentSize))
	if c := in.Checkpoint; c == nil {
		fmt.Fprintln(a.stdout, "checkpoint: none is readable")
	} else {
		mode, stop := "synced", "running, or killed"
		if c.Async {
			mode = "async"
		}
		if c.Clean {
			stop = "stopped cleanly"
		}
		fmt.Fprintf(a.stdout, "checkpoint: %s  disk: %s  fenced: %s  synced to %d  indexed to %d  keys to %d  last stored %s\n",
			stop, mode, yesNo(c.Fenced), c.Synced, c.Indexed, c.KeyIndexed, stamp(millis(c.LastStoreTime)))
	}
	if s := in.State; s != nil {
		fmt.Fprintf(a.stdout, "state: %d topics  %d groups  %d positions  %d changes, %d of them behind the snapshot\n",
			s.Topics, s.Groups, s.Positions, s.Changes, s.Replayed)
		in.Aside = append(in.Aside, s.Aside...)
	}
	for _, file := range in.Aside {
		fmt.Fprintf(a.stdout, "set aside: %s\n", file)
	}
	var rows [][]any
	for _, s := range in.Segments {
		problem := s.Problem
		if problem == "" {
			problem = "-"
		}
		rows = append(rows, []any{s.Name, byteCount(s.Used), s.Messages, s.Frames, s.QueueRuns, s.KeyRuns, stamp(millis(s.Newest)), byteCount(s.SetAside), problem})
	}
	if err := a.table([]string{"file", "used", "messages", "frames", "queue runs", "key runs", "newest", "set aside", "problem"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, q := range in.Queues {
		rows = append(rows, []any{q.Topic, q.Queue, q.Min, q.Max, q.Count})
	}
	return a.table([]string{"topic", "queue", "min", "max", "messages"}, rows)
}

// millis turns a store time into a time; 0 is none.
func millis(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// byteCount shows a number of bytes with a unit that keeps it short.
func byteCount(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/unit/unit/unit)
}

// finding is a store.Finding, or damage of the state.
type finding struct {
	Kind string `json:"kind"`
	Part string `json:"part"` // log: from and to are positions of the log; state: bytes of the file
	File string `json:"file"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	What string `json:"what"`
}

// verification is the answer of `store verify`.
type verification struct {
	OK       bool       `json:"ok"`
	Messages int64      `json:"messages"`
	Bytes    int64      `json:"bytes"`
	End      int64      `json:"end"`
	State    *stateInfo `json:"state"`
	Findings []finding  `json:"findings"`
}

func (a *app) storeVerify() *cobra.Command {
	var d dataFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read every byte that was written and compare everything with everything",
		Long: `Reads the whole log and the broker's state, and compares check sums, records, the
order of each queue and both indexes. Findings name the file and the range:
damage (messages or changes cannot be trusted), index (an index does not fit the
log; it can be rebuilt) and note (nothing is lost). Exits with 1 if there is
damage or a wrong index. To go on with a damaged log, start the server with
--repair: it sets the range aside in a file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := a.verify(cmd.Context(), &d)
			if err != nil {
				return err
			}
			if d.json {
				err = a.printJSON(v)
			} else {
				err = a.printVerification(v)
			}
			if err == nil && !v.OK {
				err = errNotSound
			}
			return err
		},
	}
	d.flags(cmd.Flags(), "print JSON")
	return cmd
}

func (a *app) verify(ctx context.Context, d *dataFlags) (*verification, error) {
	messages, state, err := d.parts()
	if err != nil {
		return nil, err
	}
	show := func(done, total int64) {
		if total > 0 {
			fmt.Fprintf(a.stderr, "\rverified %d %%", done*100/total)
		}
	}
	if !isTerminal(a.stderr) {
		show = nil
	}
	log, err := store.Verify(ctx, vfs.OS(), messages, show)
	if show != nil {
		fmt.Fprint(a.stderr, "\r\x1b[K")
	}
	if err != nil {
		return nil, err
	}
	v := &verification{OK: log.OK(), Messages: log.Messages, Bytes: log.Bytes, End: log.End, Findings: []finding{}}
	for _, f := range log.Findings {
		v.Findings = append(v.Findings, finding{string(f.Kind), "log", f.File, f.From, f.To, f.What})
	}
	if state == "" {
		return v, nil
	}
	info, damage, err := verifyState(ctx, state)
	if err != nil {
		return nil, err
	}
	v.State = info
	if damage != nil {
		v.OK = false
		v.Findings = append(v.Findings, *damage)
	}
	return v, nil
}

func (a *app) printVerification(v *verification) error {
	fmt.Fprintf(a.stdout, "log: %d messages, %s read, end at %d\n", v.Messages, byteCount(v.Bytes), v.End)
	if s := v.State; s != nil {
		fmt.Fprintf(a.stdout, "state: %d topics, %d groups, %d positions\n", s.Topics, s.Groups, s.Positions)
	}
	for _, f := range v.Findings {
		fmt.Fprintf(a.stdout, "%-7s %s %s [%d, %d): %s\n", f.Kind, f.Part, f.File, f.From, f.To, f.What)
	}
	if v.OK {
		fmt.Fprintln(a.stdout, "sound")
	}
	return nil
}
