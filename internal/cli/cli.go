// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line: one file per command, cobra for parsing and
// help, the public packages for everything else. Results go to stdout, as
// tables or with --json as JSON; logs and errors go to stderr.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses of Main.
const (
	exitOK     = 0
	exitFailed = 1 // the command could not be carried out
)

// app is what the commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	logFormat      string
	logLevel       string
	cpuProfile     string
	stopProfile    func() error
}

// Main runs the command that args name and returns the exit status. ctx ends
// when the process is asked to stop.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if a.stopProfile != nil {
		err = errors.Join(err, a.stopProfile())
	}
	if err != nil {
		fmt.Fprintf(stderr, "orderly: %s\n", strings.TrimPrefix(err.Error(), "orderly: "))
		return exitFailed
	}
	return exitOK
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "orderly",
		Short:         "A message broker with ordered messages first, speaking the Apache RocketMQ protocol",
		SilenceUsage:  true,
		SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{
			HiddenDefaultCmd: true,
		},
	}
	root.PersistentFlags().StringVar(&a.logFormat, "log-format", "text", "form of the log on stderr: text or json")
	root.PersistentFlags().StringVar(&a.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	root.PersistentFlags().StringVar(&a.cpuProfile, "cpu-profile", "", "file for a CPU profile of this process, written when it ends")
	_ = root.PersistentFlags().MarkHidden("cpu-profile")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.startProfile() }
	root.AddCommand(
		a.serverCommand(), a.namesrvCommand(), a.brokerCommand(),
		a.sendCommand(), a.consumeCommand(),
		a.topicCommand(), a.groupCommand(), a.healthCommand(), a.blockedCommand(), a.unblockCommand(), a.deadLetterCommand(), a.storeCommand(),
		a.demoCommand(), a.demoConsumerCommand(),
		a.benchCommand(),
		a.versionCommand(),
	)
	return root
}

// logger is the log on stderr, in the form that the flags ask for.
func (a *app) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q: use debug, info, warn or error", a.logLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch a.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(a.stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.stderr, opts)), nil
	}
	return nil, fmt.Errorf("--log-format %q: use text or json", a.logFormat)
}

// startProfile begins the CPU profile that was asked for.
func (a *app) startProfile() error {
	if a.cpuProfile == "" {
		return nil
	}
	f, err := os.Create(a.cpuProfile)
	if err != nil {
		return fmt.Errorf("--cpu-profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(fmt.Errorf("--cpu-profile: %w", err), f.Close())
	}
	a.stopProfile = func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}
	return nil
}

// isTerminal reports whether w shows things to a person.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
