package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/store"
)

func (a *app) pullCommand() *cobra.Command {
	var where, to string
	command := &cobra.Command{
		Use:   "pull RUN",
		Short: "Copy the documents of a run or a matrix from the store to a directory",
		Long: `Copy everything that the store holds of a run to DIRECTORY/RUN: the result document, its legs one by one and what the untimed steps found
out. Of a matrix, the summary and the runs of all its cells are copied. Each file is checked against the store's checksum while it is read
and against its schema and its own digests before it is written; nothing is overwritten unless it is the same.`,
		Example: `  starter pull sqlite-20261201-101500-a1b2c3 --store s3://benchmarks/nightly -o ./results
  starter show ./results/sqlite-20261201-101500-a1b2c3/result.json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRuns,
	}
	command.Flags().StringVar(&where, "store", "", storeHelp)
	command.Flags().StringVarP(&to, "output", "o", ".", "directory to copy to")
	command.RunE = func(cmd *cobra.Command, args []string) error { return a.pull(cmd.Context(), where, args[0], to) }
	return command
}

func (a *app) pull(ctx context.Context, where, run, to string) error {
	name, err := storeName(where)
	if err != nil {
		return err
	}
	from, err := store.Open(name)
	if err != nil {
		return err
	}
	if err := store.ValidKey(store.DocumentKey(run)); err != nil {
		return usagef("%q cannot be a run: %w", run, err)
	}
	// A directory store writes whole files or none, survives a crash and never replaces what is different: just what is wanted here.
	dir, err := filepath.Abs(to)
	if err != nil {
		return fmt.Errorf("find the directory: %w", err)
	}
	target, err := store.Open("dir:" + dir)
	if err != nil {
		return err
	}
	p := puller{from: from, to: target}
	if err := p.run(ctx, run); err != nil {
		return err
	}
	if p.files == 0 {
		return usagef("%s holds nothing of a run %q; starter list --store %s shows what there is", name, run, name)
	}
	path := filepath.Join(dir, run)
	if a.format == "json" {
		return a.writeJSON(pulled{Run: run, Path: path, Files: p.files, Bytes: p.bytes})
	}
	printf(a.stderr, "%d files, %s\n", p.files, humanize.IBytes(uint64(p.bytes)))
	printf(a.stdout, "%s\n", path)
	return nil
}

// pulled is what was copied, the runs of a matrix's cells included.
type pulled struct {
	Run   string `json:"run"`
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// puller copies runs from one store to another.
type puller struct {
	from, to store.Store
	files    int
	bytes    int64
}

// run copies a run, and the runs of its cells if it is a matrix.
func (p *puller) run(ctx context.Context, run string) error {
	keys, err := p.from.List(ctx, run+"/")
	if err != nil {
		return err
	}
	for _, key := range keys {
		data, err := p.from.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("pull %s: %w", key, err)
		}
		cells, err := check(run, key, data)
		if err != nil {
			return fmt.Errorf("pull %s: %w; nothing was written", key, err)
		}
		if err := p.to.Put(ctx, key, data); err != nil {
			if errors.Is(err, store.ErrExists) {
				return usagef("pull %s: a different file of that name is there already; choose another directory with -o", key)
			}
			return fmt.Errorf("pull %s: %w", key, err)
		}
		p.files, p.bytes = p.files+1, p.bytes+int64(len(data))
		for _, cell := range cells {
			if cell != run {
				if err := p.run(ctx, cell); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// check makes sure that a document is whole and what its name says, and returns the runs that it is a summary of.
func check(run, key string, data []byte) (cells []string, err error) {
	switch key {
	case store.DocumentKey(run):
		document, err := result.Decode(data)
		if err != nil {
			return nil, err
		}
		if document.Run.ID != run {
			return nil, fmt.Errorf("it is the result of %q", document.Run.ID)
		}
		return nil, document.Validate()
	case store.MatrixKey(run):
		summary, err := result.DecodeMatrix(data)
		if err != nil {
			return nil, err
		}
		if summary.ID != run {
			return nil, fmt.Errorf("it is the summary of %q", summary.ID)
		}
		for _, cell := range summary.Cells {
			if cell.Run != "" {
				cells = append(cells, cell.Run)
			}
		}
	}
	return cells, nil
}
