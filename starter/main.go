// Command starter is durabench's command line: it plans, runs, watches and shows database benchmarks, each a durable Temporal workflow.
package main

import (
	"os"

	_ "github.com/durabench/durabench/drivers/all" // every engine registers itself
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}
