// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/orderlymq/orderly/embed"
)

const (
	defaultBroker = "127.0.0.1:10911"
	defaultData   = "orderly-data"
	// closeLimit is how long a server may drain after it was asked to stop.
	closeLimit = 2 * time.Second
)

// brokerFlags is the flags that a server and a broker of its own share.
type brokerFlags struct {
	brokerAddr, advertiseAddr, data, config string
	public                                  bool
	async                                   bool
	repair                                  bool
}

func (b *brokerFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&b.brokerAddr, "broker-addr", defaultBroker, "where the broker listens; port 0 picks a free one")
	f.StringVar(&b.advertiseAddr, "advertise-addr", "", "the broker's address as clients are told it (default: where it listens)")
	f.StringVar(&b.data, "data", defaultData, "directory of everything that must survive")
	f.StringVar(&b.config, "config", "", "a broker.conf; flags win over it")
	f.BoolVar(&b.async, "async-disk", false, "acknowledge messages before the disk has synced them (at most 500 ms behind)")
	f.BoolVar(&b.repair, "repair", false, "set damaged parts of the data aside, and say what they held, instead of refusing to start")
	publicFlag(f, &b.public)
}

func publicFlag(f *pflag.FlagSet, public *bool) {
	f.BoolVar(public, "public", false, "allow addresses other than loopback; whoever reaches them can read and write everything")
}

// checkLoopback refuses an address that others can reach unless that was asked
// for: there is no authentication yet.
func checkLoopback(flag, addr string, public bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--%s %q: use HOST:PORT: %w", flag, addr, err)
	}
	if p, err := strconv.Atoi(port); err != nil || p < 0 || p > 65535 {
		return fmt.Errorf("--%s %q: the port must be 0 to 65535", flag, addr)
	}
	if public || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--%s %q can be reached from other machines, and there is no authentication: say --public if that is wanted", flag, addr)
	}
	return nil
}

// embedConfig is the broker part of a configuration: flags that were given win
// over the file.
func (b *brokerFlags) embedConfig(cmd *cobra.Command, log *slog.Logger) (embed.Config, brokerConf, error) {
	var conf brokerConf
	if b.config != "" {
		var err error
		if conf, err = readBrokerConf(b.config, log); err != nil {
			return embed.Config{}, conf, err
		}
	}
	given := cmd.Flags().Changed
	if conf.listenPort != 0 && !given("broker-addr") {
		b.brokerAddr = net.JoinHostPort("127.0.0.1", strconv.Itoa(conf.listenPort))
	}
	if !given("data") {
		b.data = cmp.Or(conf.data, b.data)
	}
	if !given("async-disk") {
		b.async = conf.asyncDisk
	}
	if err := checkLoopback("broker-addr", b.brokerAddr, b.public); err != nil {
		return embed.Config{}, conf, err
	}
	return embed.Config{
		BrokerAddr:             b.brokerAddr,
		AdvertiseAddr:          cmp.Or(b.advertiseAddr, conf.advertise(b.brokerAddr)),
		DataDir:                b.data,
		BrokerName:             conf.brokerName,
		ClusterName:            conf.clusterName,
		SegmentSize:            conf.segmentSize,
		AsyncDisk:              b.async,
		Repair:                 b.repair,
		DisableAutoCreateTopic: conf.noAutoTopic,
		DisableAutoCreateGroup: conf.noAutoGroup,
		Logger:                 log,
	}, conf, nil
}

func (a *app) serverCommand() *cobra.Command {
	var b brokerFlags
	var namesrvAddr string
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run name server and broker in one process",
		Long: `Runs name server and broker in one process. When both serve, it prints one line
to stdout: orderly ready namesrv=HOST:PORT broker=HOST:PORT data=DIR. SIGTERM and
SIGINT drain and close it within 2 seconds; after a crash it comes up again with
every acknowledged message.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.logger()
			if err != nil {
				return err
			}
			cfg, conf, err := b.embedConfig(cmd, log)
			if err != nil {
				return err
			}
			if conf.namesrv != "" {
				log.Warn("broker.conf key ignored", "key", "namesrvAddr", "reason", "this process runs a name server of its own; use orderly broker to register with others")
			}
			if err := checkLoopback("namesrv-addr", namesrvAddr, b.public); err != nil {
				return err
			}
			cfg.NamesrvAddr = namesrvAddr
			srv, err := embed.Start(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			ready := fmt.Sprintf("orderly ready namesrv=%s broker=%s data=%s", srv.NamesrvAddr(), srv.BrokerAddr(), cfg.DataDir)
			return a.serve(cmd.Context(), ready, srv.Close)
		},
	}
	cmd.Flags().StringVar(&namesrvAddr, "namesrv-addr", defaultNamesrv, "where the name server listens; port 0 picks a free one")
	b.flags(cmd.Flags())
	return cmd
}

// serve prints the ready line, waits to be asked to stop, and closes.
func (a *app) serve(ctx context.Context, ready string, closeServer func(context.Context) error) error {
	_, printErr := fmt.Fprintln(a.stdout, ready)
	if printErr == nil {
		<-ctx.Done()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	return errors.Join(printErr, closeServer(ctx))
}

func (a *app) namesrvCommand() *cobra.Command {
	var addr, data string
	var public bool
	cmd := &cobra.Command{
		Use:   "namesrv",
		Short: "Run a name server alone",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.logger()
			if err != nil {
				return err
			}
			if err := checkLoopback("namesrv-addr", addr, public); err != nil {
				return err
			}
			srv, err := embed.StartNamesrv(cmd.Context(), embed.Config{NamesrvAddr: addr, DataDir: data, Logger: log})
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), fmt.Sprintf("orderly ready namesrv=%s data=%s", srv.NamesrvAddr(), data), srv.Close)
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "namesrv-addr", defaultNamesrv, "where to listen; port 0 picks a free one")
	f.StringVar(&data, "data", defaultData, "directory of everything that must survive")
	publicFlag(f, &public)
	return cmd
}

func (a *app) brokerCommand() *cobra.Command {
	var b brokerFlags
	var namesrv string
	cmd := &cobra.Command{
		Use:   "broker",
		Short: "Run a broker alone, registered with name servers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.logger()
			if err != nil {
				return err
			}
			cfg, conf, err := b.embedConfig(cmd, log)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("namesrv") {
				namesrv = cmp.Or(conf.namesrv, namesrv)
			}
			srv, err := embed.StartBroker(cmd.Context(), cfg, []string{namesrv})
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), fmt.Sprintf("orderly ready broker=%s data=%s", srv.BrokerAddr(), cfg.DataDir), srv.Close)
		},
	}
	cmd.Flags().StringVarP(&namesrv, "namesrv", "n", defaultNamesrv, "name servers to register with, separated by ';'")
	b.flags(cmd.Flags())
	return cmd
}
