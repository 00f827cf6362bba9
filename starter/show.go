package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/store"
)

func (a *app) showCommand() *cobra.Command {
	var where string
	command := &cobra.Command{
		Use:   "show RUN",
		Short: "Show the result of a finished run or matrix",
		Long: `Show the result document of a run, or the table across engines of a matrix, from the store, as a table or in another format. Nothing is started. The argument may also be the path
of a result document.`,
		Example: `  starter show sqlite-20261201-101500-a1b2c3
  starter show sqlite-20261201-101500-a1b2c3 --format markdown
  starter show ./result.json --format csv`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRuns,
	}
	command.Flags().StringVar(&where, "store", "", storeHelp)
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if summary, path, err := findSummary(cmd.Context(), where, args[0]); summary != nil || err != nil {
			if err != nil {
				return err
			}
			return a.showMatrix(summary, path)
		}
		document, path, err := findDocument(cmd.Context(), where, args[0])
		if err != nil {
			return err
		}
		if err := a.showDocument(document, path); err != nil {
			return err
		}
		return nil
	}
	return command
}

// findSummary finds the summary of a matrix by its run id; nil when the store has none.
func findSummary(ctx context.Context, where, run string) (*result.Matrix, string, error) {
	if store.ValidKey(store.MatrixKey(run)) != nil {
		return nil, "", nil
	}
	name, err := storeName(where)
	if err != nil {
		return nil, "", err
	}
	kept, err := store.Open(name)
	if err != nil {
		return nil, "", err
	}
	data, err := kept.Get(ctx, store.MatrixKey(run))
	if errors.Is(err, store.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	path := ""
	if locator, ok := kept.(store.Locator); ok {
		path = locator.Path(store.MatrixKey(run))
	}
	summary, err := result.DecodeMatrix(data)
	if err != nil {
		return nil, "", fmt.Errorf("summary of matrix %s: %w", run, err)
	}
	return summary, path, nil
}

// findDocument finds a run's document by the run's name or the document's path.
func findDocument(ctx context.Context, where, run string) (*result.Document, string, error) {
	name, err := storeName(where)
	if err != nil {
		return nil, "", err
	}
	kept, err := store.Open(name)
	if err != nil {
		return nil, "", err
	}
	if store.ValidKey(store.DocumentKey(run)) == nil {
		data, err := kept.Get(ctx, store.DocumentKey(run))
		if err == nil {
			document, err := result.Decode(data)
			if err != nil {
				return nil, "", fmt.Errorf("result of run %s: %w", run, err)
			}
			path := ""
			if locator, ok := kept.(store.Locator); ok {
				path = locator.Path(store.DocumentKey(run))
			}
			return document, path, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, "", err
		}
	}
	if fileExists(run) {
		document, err := result.ReadFile(run)
		return document, run, err
	}
	return nil, "", usagef("%s holds no result of a run %q, and no file has that name; starter list shows what there is, starter watch a run that "+
		"is going on", name, run)
}
