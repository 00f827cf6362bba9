package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/infra/process"
	"github.com/durabench/durabench/workers/serve"
)

// diagnosis is what `starter doctor` found.
type diagnosis struct {
	Host     result.Host    `json:"host"`
	Findings []host.Finding `json:"findings"`
	Engines  []engineHere   `json:"engines"`
}

// engineHere is whether an engine's server can be started on this machine.
type engineHere struct {
	Engine string `json:"engine"`
	Binary string `json:"binary,omitempty"`
	Why    string `json:"why,omitempty"` // not
}

func (a *app) doctorCommand() *cobra.Command {
	var dataDir, isolation string
	var flush bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine and say what stands in the way of good figures",
		Long: `Look at this machine and say of everything that bears on measurements whether it is ok, makes figures less steady (warn) or misleading
(bad), and what to do about it: processor, governor, memory, swap, disk and what a flush to it takes, neighbours, what isolation would be
refused, the host's lock, the container engine, and which engines' servers are installed. Nothing is changed; measuring flushes writes some
hundred kilobytes to the data directory. The exit code is 2 when a finding is bad.`,
		Example: `  sudo starter doctor
  starter doctor --data-dir /mnt/bench --format json`,
		Args: cobra.NoArgs,
	}
	command.Flags().StringVar(&dataDir, "data-dir", "", "where databases will have their files (default: the data directory of durabench)")
	command.Flags().StringVar(&isolation, "isolation", string(host.Standard), "level that runs will ask for: none, standard or strict")
	command.Flags().BoolVar(&flush, "flush", true, "measure what a flush to the data directory takes")
	registerCompletion(command, "isolation", cobra.FixedCompletions([]string{"none", "standard", "strict"}, cobra.ShellCompDirectiveNoFileComp))
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		level, err := host.ParseLevel(isolation)
		if err != nil {
			return usage(err)
		}
		return a.doctor(cmd.Context(), dataDir, flush, level)
	}
	return command
}

func (a *app) doctor(ctx context.Context, dataDir string, flush bool, level host.Level) error {
	data, err := home.Data()
	if err != nil {
		return err
	}
	if dataDir == "" {
		dataDir = data
	}
	if dataDir, err = filepath.Abs(dataDir); err != nil {
		return err
	}
	engine := containerEngine(ctx)
	d := diagnosis{
		Host: host.Fingerprint(ctx, dataDir),
		Findings: host.Doctor(ctx, host.DoctorOptions{
			DataDir: dataDir, Flush: flush, JournalDir: serve.Journal(data), ContainerEngine: engine, Isolation: host.Isolation{Level: level},
		}),
		Engines: enginesHere(),
	}
	d.Host.ContainerEngine = engine
	if err := a.showDiagnosis(d); err != nil {
		return err
	}
	if slices.ContainsFunc(d.Findings, func(f host.Finding) bool { return f.Status == host.StatusBad }) {
		return &exitError{exitInfrastructure, errShown{}}
	}
	return nil
}

// containerEngine names the machine's container engine; empty without one.
func containerEngine(ctx context.Context) string {
	client, err := docker.New(nil)
	if err != nil {
		return ""
	}
	defer client.Close()
	engine, err := client.Available(ctx)
	if err != nil {
		return ""
	}
	return engine.String()
}

// enginesHere lists the engines that have a server of their own, and whether it is installed.
func enginesHere() []engineHere {
	var all []engineHere
	for _, engine := range drivers.Engines() {
		if engine.Server == nil || !slices.Contains(engine.Modes, drivers.Process) {
			continue
		}
		binary, err := process.Installed(engine.Server)
		here := engineHere{Engine: engine.Name, Binary: binary}
		switch {
		case errors.Is(err, process.ErrNotInstalled):
			here.Why = engine.Server.Install
		case err != nil:
			here.Why = err.Error()
		}
		all = append(all, here)
	}
	return all
}

func (a *app) showDiagnosis(d diagnosis) error {
	if a.format == "json" {
		return a.writeJSON(d)
	}
	t := a.newTable()
	t.AppendHeader(table.Row{"", "What", "Found", "What to do"})
	if a.format == "table" {
		const wide = 60
		t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: wide, WidthMaxEnforcer: text.WrapSoft}, {Number: 4, WidthMax: wide, WidthMaxEnforcer: text.WrapSoft}})
	}
	for _, f := range d.Findings {
		t.AppendRow(table.Row{a.paintStatus(f.Status), f.Name, f.Value, f.Fix})
	}
	for _, e := range d.Engines {
		found := e.Binary
		if found == "" {
			found = "no server's program on this machine"
		}
		t.AppendRow(table.Row{"", "engine " + e.Engine, found, e.Why})
	}
	a.render(t)
	return nil
}

// paintStatus colours a finding's status where colours are wanted.
func (a *app) paintStatus(status host.Status) string {
	if a.format != "table" || !a.colored(a.stdout) {
		return string(status)
	}
	switch status {
	case host.StatusBad:
		return "\x1b[31m" + string(status) + "\x1b[0m"
	case host.StatusWarn:
		return "\x1b[33m" + string(status) + "\x1b[0m"
	}
	return "\x1b[32m" + string(status) + "\x1b[0m"
}
