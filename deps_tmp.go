//go:build deps

package durabench

import (
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/agext/levenshtein"
	_ "github.com/dustin/go-humanize"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/uuid"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/jedib0t/go-pretty/v6/table"
	_ "github.com/mattn/go-sqlite3"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/prometheus/procfs"
	_ "github.com/redis/rueidis"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/suite"
	_ "github.com/vbauerster/mpb/v8"
	_ "go.temporal.io/sdk/client"
	_ "go.temporal.io/sdk/contrib/envconfig"
	_ "go.temporal.io/sdk/testsuite"
	_ "go.temporal.io/sdk/worker"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
