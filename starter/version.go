package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/durabench/durabench/infra/build"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print which build this is; every result carries it",
		Example: `  starter version
  starter version --format json`,
		RunE: func(*cobra.Command, []string) error {
			h := build.Harness()
			if a.format == "json" {
				return a.writeJSON(h)
			}
			cgo := "without cgo"
			if h.Cgo {
				cgo = "with cgo"
			}
			_, err := fmt.Fprintf(a.stdout, "durabench %s, %s, %s", h.Version, h.Go, cgo)
			if h.Revision != "" {
				modified := ""
				if h.Modified {
					modified = ", modified"
				}
				fmt.Fprintf(a.stdout, ", revision %s%s", h.Revision, modified)
			}
			fmt.Fprintln(a.stdout)
			return err
		},
	}
}
