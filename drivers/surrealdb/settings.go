package surrealdb

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/durabench/durabench/drivers"
)

// Settings reads back what the server lets anybody read. What it was started with is not among that: for servers that we start, the start
// itself wrote it into the database; for others the option datastore says it.
func (d *database) Settings(ctx context.Context) (settings drivers.Settings, err error) {
	err = d.control(ctx, "read back the settings", func(c *control) error {
		results, err := c.query(ctx, "RETURN $"+launchParameter+"; INFO FOR ROOT; INFO FOR DB")
		if err != nil {
			return err
		}
		launched, _ := results[0].(map[string]any)
		told := d.load.Options[optionDatastore]
		if told == untold {
			told = ""
		}
		value := told
		why := "what the server keeps the data in, as [engine] says it: SurrealDB lets nobody read it back"
		if recorded, is := launched[settingDatastore].(string); is {
			if told != "" && told != recorded {
				return fmt.Errorf("[engine] says that the server was started with datastore %q, but our own start of it wrote down %q: leave the option out", told, recorded)
			}
			value, why = recorded, "what the server keeps the data in, as its start wrote it down: SurrealDB lets nobody read it back"
		}
		settings.Tier, settings.Reason = tierIn(value)
		if value != "" {
			settings.Values = append(settings.Values, drivers.Setting{Name: settingDatastore, Value: value, Why: why})
		}
		for _, name := range slices.Sorted(maps.Keys(launched)) {
			if value, is := launched[name].(string); is && name != settingDatastore {
				settings.Values = append(settings.Values, drivers.Setting{Name: name, Value: value, Why: "in the server's environment, as its start wrote it down"})
			}
		}
		settings.Values = append(settings.Values, facts(results[1], results[2])...)
		encryption := "off"
		if d.server.url.Scheme == "wss" {
			encryption = "on"
		}
		settings.Values = append(settings.Values,
			drivers.Setting{Name: "tls", Value: encryption, Why: "encryption costs time on both sides of every operation"},
			drivers.Setting{Name: "compression", Value: "off", Why: "WebSocket's compression is not offered to the server"})
		return nil
	})
	return settings, err
}

// facts are what the server says of itself and of the table.
func facts(root, db any) (values []drivers.Setting) {
	system := member(root, "system")
	for _, fact := range []drivers.Setting{
		{Name: "available_parallelism", Why: "CPUs that the server may use"},
		{Name: "physical_cores", Why: "CPU cores of its machine"},
	} {
		// An engine that does not look reports 0.
		if n, is := member(system, fact.Name).(int64); is && n > 0 {
			fact.Value = fmt.Sprint(n)
			values = append(values, fact)
		}
	}
	if timeout := member(member(root, "config"), "QUERY_TIMEOUT"); timeout != nil {
		values = append(values, drivers.Setting{Name: "query_timeout", Value: fmt.Sprint(timeout), Why: "after which the server ends a query"})
	}
	if definition, is := member(member(db, "tables"), drivers.Table).(string); is {
		values = append(values, drivers.Setting{Name: "table", Value: definition, Why: "how the table was defined"})
	}
	return values
}

// member returns a member of an object, nil when there is none.
func member(object any, name string) any {
	m, _ := object.(map[string]any)
	return m[name]
}

// tierIn tells the durability tier of a datastore, and why. With sync=every a commit is flushed before it is acknowledged, with sync=never it is
// handed to the operating system (seen with kill -9 in TestDurability), with an interval it may stay in the server's memory until it is over.
func tierIn(datastore string) (drivers.Tier, string) {
	if datastore == "" {
		return "", `SurrealDB lets nobody read back what it was started with: say it with datastore = "…" in [engine]`
	}
	scheme, sync, err := parseDatastore(datastore)
	switch {
	case err != nil:
		return "", err.Error()
	case scheme == memory || scheme == "mem":
		return drivers.TierNone, "datastore " + datastore
	case scheme != "rocksdb" && scheme != "surrealkv":
		return "", "what datastore " + scheme + " promises is not known here"
	}
	switch sync {
	case "every":
		return drivers.TierOS, "datastore " + datastore
	case "never":
		return drivers.TierProcess, "datastore " + datastore
	case "":
		return "", "datastore " + datastore + " does not say sync=every or sync=never, and the default depends on the version and the environment"
	}
	return drivers.TierNone, "datastore " + datastore + ": what is acknowledged between two flushes may be in the server's memory alone"
}

// parseDatastore reads a server's PATH argument, with or without the path.
func parseDatastore(text string) (scheme, sync string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", "", fmt.Errorf("datastore %q cannot be read: write it like memory, rocksdb://?sync=every or surrealkv:///path?sync=never", text)
	}
	scheme = u.Scheme
	if scheme == "" {
		scheme = u.Path // memory has no path
	}
	if !slices.Contains([]string{memory, "mem", "rocksdb", "surrealkv", "tikv"}, scheme) {
		return "", "", fmt.Errorf("datastore %q is none of SurrealDB's: write it like memory, rocksdb://?sync=every or surrealkv:///path?sync=never", text)
	}
	return scheme, u.Query().Get("sync"), nil
}

// checkDatastore checks the option.
func checkDatastore(value string) error {
	if value == untold {
		return nil
	}
	_, _, err := parseDatastore(value)
	return err
}

// ours tells whether a definition has our comment.
func ours(definition string) bool { return strings.Contains(definition, "COMMENT '"+comment+"'") }
