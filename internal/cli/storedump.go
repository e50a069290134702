// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/vfs"
)

func (a *app) storeDump() *cobra.Command {
	var d dataFlags
	var o store.DumpOptions
	var body, state bool
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print the records of the log, in log order",
		Long: `Prints the messages of the log, in log order; with --state the changes of topics,
groups, positions and leases instead, as JSON objects, one a line: first those of
the last snapshot, with number 0, then those behind it, by number.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			messages, changes, err := d.parts()
			if err != nil {
				return err
			}
			w := bufio.NewWriterSize(a.stdout, 64<<10)
			if state {
				return errors.Join(dumpState(cmd.Context(), changes, w), w.Flush())
			}
			put := dumpJSON(w, body)
			if !d.json {
				put = dumpText(w, body)
			}
			return errors.Join(store.Dump(cmd.Context(), vfs.OS(), messages, o, put), w.Flush())
		},
	}
	f := cmd.Flags()
	d.flags(f, "print a JSON object a line")
	f.StringVarP(&o.Topic, "topic", "t", "", "only messages of this topic")
	f.Int32VarP(&o.Queue, "queue", "q", -1, "only messages of this queue of the topic")
	f.Int64Var(&o.From, "from", 0, "start at this position of the log")
	f.Int64Var(&o.To, "to", 0, "end at this position of the log (default: its end)")
	f.IntVar(&o.Max, "max", 0, "end after so many messages (default: all)")
	f.BoolVar(&body, "body", false, "print bodies too, as they are stored")
	f.BoolVar(&state, "state", false, "print the changes of topics, groups, positions and leases instead")
	return cmd
}

// dumpedRecord is a line of `store dump --json` for a message.
type dumpedRecord struct {
	Physical int64  `json:"physical"`
	Size     int    `json:"size"`
	Topic    string `json:"topic"`
	Queue    int32  `json:"queue"`
	Offset   int64  `json:"offset"`
	Key      string `json:"key"` // the ordering key
	Keys     string `json:"keys"`
	Tag      string `json:"tag"`
	ID       string `json:"id"`
	StoredMS int64  `json:"stored_ms"`
	Body     []byte `json:"body,omitempty"`
}

// dumpedRange is a line of `store dump --json` for a range without messages.
type dumpedRange struct {
	Physical int64  `json:"physical"`
	To       int64  `json:"to"`
	Note     string `json:"note"`
}

func newDumped(d store.Dumped, body bool) dumpedRecord {
	property := func(name string) string {
		v, _ := d.Record.Property(name)
		return string(v)
	}
	out := dumpedRecord{
		Physical: d.Physical, Size: d.Record.Size(),
		Topic: string(d.Record.Topic()), Queue: d.Record.QueueID(), Offset: d.Record.QueueOffset(),
		Key: property(msg.PropShardingKey), Keys: property(msg.PropKeys), Tag: property(msg.PropTags),
		ID: property(msg.PropUniqueKey), StoredMS: d.Record.StoreTimestamp(),
	}
	if body {
		out.Body = d.Record.Body()
	}
	return out
}

func dumpJSON(w io.Writer, body bool) func(store.Dumped) error {
	enc := json.NewEncoder(w)
	return func(d store.Dumped) error {
		if d.Record == nil {
			return enc.Encode(dumpedRange{d.Physical, d.To, d.Note})
		}
		return enc.Encode(newDumped(d, body))
	}
}

// dumpText prints columns of fixed width, for a log may be longer than what can
// be kept to align it.
func dumpText(w io.Writer, body bool) func(store.Dumped) error {
	const row = "%14v %6v %-24v %5v %10v  %s"
	fmt.Fprintf(w, row+"\n", "PHYSICAL", "SIZE", "TOPIC", "QUEUE", "OFFSET", "KEY")
	return func(d store.Dumped) error {
		if d.Record == nil {
			_, err := fmt.Fprintf(w, "%14d up to %d: %s\n", d.Physical, d.To, d.Note)
			return err
		}
		r := newDumped(d, body)
		fmt.Fprintf(w, row, r.Physical, r.Size, r.Topic, r.Queue, r.Offset, r.Key)
		if body {
			fmt.Fprintf(w, "  %q", r.Body)
		}
		_, err := fmt.Fprintln(w)
		return err
	}
}
