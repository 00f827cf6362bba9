package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/durabench/durabench/infra/temporald/server"
)

// parseStartDev reads the temporal CLI's arguments, so that testsuite.StartDevServer
// of the SDK can run this program. Without a database file everything is
// forgotten at the end, as with the CLI.
func parseStartDev(args []string, stderr io.Writer) (set settings, err error) {
	o := &set.options
	o.Attributes = maps.Clone(server.Attributes)
	o.Dynamic = map[string]any{}
	fs := newFlags("temporald server start-dev")
	fs.StringVar(&o.Host, "ip", "127.0.0.1", "IP `address` to listen on")
	fs.IntVar(&o.Port, "port", 7233, "`port` for clients and workers; 0 picks a free one")
	fs.IntVar(&o.UIPort, "ui-port", 0, "`port` of the Web UI; 0 picks a free one")
	fs.BoolVar(&o.Headless, "headless", false, "serve no Web UI")
	fs.IntVar(&o.MetricsPort, "metrics-port", 0, "`port` of the Prometheus metrics; 0 serves none")
	fs.StringVar(&o.Namespace, "namespace", "default", "`namespace` to create when missing")
	fs.StringVar(&o.DB, "db-filename", "", "SQLite `file`; without it nothing is kept")
	fs.String("log-format", "text", "accepted and ignored")
	fs.Func("search-attribute", "`name=type` to register; repeatable", func(s string) error {
		name, kind, _ := strings.Cut(s, "=")
		value, err := enumspb.IndexedValueTypeFromString(kind)
		o.Attributes[name] = value
		return err
	})
	fs.Func("dynamic-config-value", "`key=json` to set; repeatable", func(s string) error {
		key, text, _ := strings.Cut(s, "=")
		var value any
		err := json.Unmarshal([]byte(text), &value)
		o.Dynamic[key] = value
		return err
	})
	logLevel(fs, &set.level)
	if err := parseFlags(fs, args, stderr); err != nil {
		return set, err
	}
	if o.DB == "" {
		if set.scratch, err = os.MkdirTemp("", "temporald-"); err != nil {
			return set, fmt.Errorf("create directory for a passing database: %w", err)
		}
		o.DB = filepath.Join(set.scratch, server.DBName())
	}
	return set, nil
}
