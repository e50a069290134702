// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly"
)

func (a *app) sendCommand() *cobra.Command {
	var c cluster
	var m orderly.Message
	cmd := &cobra.Command{
		Use:   "send TOPIC [BODY...]",
		Short: "Send messages: each BODY, or each line of standard input",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.Topic = args[0]
			return a.withClient(cmd.Context(), c, func(cl *orderly.Client) error {
				p, err := cl.NewProducer(orderly.ProducerConfig{})
				if err != nil {
					return err
				}
				return eachBody(args[1:], a.stdin, func(body string) error {
					one := m
					one.Body = []byte(body)
					r, err := p.Send(cmd.Context(), &one)
					if err != nil {
						return err
					}
					return a.printReceipt(c.json, r)
				})
			})
		},
	}
	f := cmd.Flags()
	c.flags(f)
	f.StringVarP(&m.OrderingKey, "key", "k", "", "ordering key: messages of one key are consumed in order")
	f.StringVarP(&m.Tag, "tag", "t", "", "tag that consumers filter by")
	f.StringSliceVar(&m.Keys, "keys", nil, "words to find the message by")
	return cmd
}

// eachBody calls f for each argument, or without any for each line of in.
func eachBody(bodies []string, in io.Reader, f func(string) error) error {
	if len(bodies) > 0 {
		for _, b := range bodies {
			if err := f(b); err != nil {
				return err
			}
		}
		return nil
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if body := strings.TrimRight(line, "\r\n"); body != "" {
			if err := f(body); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
	}
}

func (a *app) printReceipt(asJSON bool, r orderly.Receipt) error {
	if asJSON {
		return a.printJSON(map[string]any{
			"id": r.ID, "broker": r.Queue.Broker, "queue": r.Queue.ID, "offset": r.Offset, "status": r.Status.String(),
		})
	}
	_, err := fmt.Fprintf(a.stdout, "stored in queue %d at offset %d, id %s\n", r.Queue.ID, r.Offset, r.ID)
	return err
}

// withClient runs f with a client of the cluster.
func (a *app) withClient(ctx context.Context, c cluster, f func(*orderly.Client) error) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	cl, err := orderly.Open(ctx, orderly.Config{NameServers: []string{c.namesrv}, Logger: log})
	if err != nil {
		return err
	}
	defer cl.Close()
	return f(cl)
}
