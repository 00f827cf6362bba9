// Package drivertest has what the tests of drivers have in common beside the suite they all pass (drivers/conformance).
package drivertest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/process"
)

// Must ends the test on an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Engine is the registration of that name.
func Engine(tb testing.TB, name string) drivers.Engine {
	tb.Helper()
	engine, found := drivers.Lookup(name)
	if !found {
		tb.Fatalf("%s is not registered", name)
	}
	return engine
}

// Small completes a configuration by a corpus of small rows with integer keys, and by what change, which may be nil, does to it.
func Small(tb testing.TB, config drivers.Config, change func(*drivers.Config)) drivers.Config {
	tb.Helper()
	template, err := corpus.ParseTemplate(map[string]any{"name": "string:10", "number": "int"})
	Must(tb, err)
	config.Corpus, err = corpus.New(7, template, corpus.KeyInteger, false)
	Must(tb, err)
	config.Logger = slog.New(slog.DiscardHandler)
	if change != nil {
		change(&config)
	}
	return config
}

// Open opens the database; it is closed at the end of the test.
func Open(tb testing.TB, engine drivers.Engine, config drivers.Config) drivers.Database {
	tb.Helper()
	database, err := engine.Open(tb.Context(), config)
	Must(tb, err)
	tb.Cleanup(func() { _ = database.Close() })
	return database
}

// Clients opens all clients; they are closed at the end of the test.
func Clients(tb testing.TB, database drivers.Database, config drivers.Config) (all []drivers.Client) {
	tb.Helper()
	for i := range config.Clients {
		client, err := database.Client(tb.Context(), i)
		Must(tb, err)
		tb.Cleanup(func() { _ = client.Close() })
		all = append(all, client)
	}
	return all
}

// Loaded opens a database as a run does, with so many rows, and its clients.
func Loaded(tb testing.TB, engine drivers.Engine, config drivers.Config, rows uint64) (drivers.Database, []drivers.Client) {
	tb.Helper()
	database := Open(tb, engine, config)
	if preflighter, ok := database.(drivers.Preflighter); ok {
		Must(tb, preflighter.Preflight(tb.Context()))
	}
	Must(tb, database.Prepare(tb.Context()))
	clients := Clients(tb, database, config)
	Must(tb, drivers.LoadRows(tb.Context(), clients[0], config.Corpus, 0, rows, 0))
	return database, clients
}

// Says wants an error in one line with all texts in it, and without the password.
func Says(tb testing.TB, err error, config drivers.Config, texts ...string) {
	tb.Helper()
	if err == nil {
		tb.Errorf("no error, want one with %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			tb.Errorf("error does not say %q: %v", text, err)
		}
	}
	if password := config.Credentials.Password; password != "" && strings.Contains(err.Error(), password) {
		tb.Errorf("error tells the password: %v", err)
	}
	if strings.Contains(err.Error(), "\n") {
		tb.Errorf("error has more than one line: %v", err)
	}
}

// Start starts a server of the machine's own, which a developer's machine may lack.
func Start(tb testing.TB, options process.Options) *process.Running {
	tb.Helper()
	running, err := process.Start(context.Background(), options)
	if errors.Is(err, process.ErrNotInstalled) {
		ci.Need(tb, err)
	}
	Must(tb, err)
	return running
}
