// SPDX-License-Identifier: Apache-2.0

// Command orderly is the server, the tools and the demo of Orderly in one
// binary; `orderly help` lists what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/orderlymq/orderly/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
