package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/durabench/durabench/drivers"
)

// facts are where a server says what could explain a number: a command on the database admin, a path in its answer, and why it matters.
var facts = []struct {
	command string
	path    []string
	name    string
	why     string
}{
	{"serverStatus", []string{"storageEngine", "name"}, "storage engine", "who keeps the documents"},
	{"serverStatus", []string{"storageEngine", "persistent"}, "persistent", "false: everything is in memory and lost with the process"},
	{"serverStatus", []string{"wiredTiger", "cache", "maximum bytes configured"}, "cache bytes", "the server's own cache, uncompressed"},
	{"serverStatus", []string{"wiredTiger", "concurrentTransactions", "write", "totalTickets"}, "write tickets", "writes that are worked on at once"},
	{"serverStatus", []string{"process"}, "process", "mongod, or mongos, which forwards to others"},
	{"serverStatus", []string{"connections", "available"}, "connections available", "bounds clients × threads"},
	{"serverStatus", []string{"transportSecurity", "1.3"}, "tls 1.3 connections", "encryption costs time on both sides of every operation"},
	{"buildInfo", []string{"gitVersion"}, "git version", "the build"},
	{"buildInfo", []string{"allocator"}, "allocator", "memory allocator of the build"},
	{"buildInfo", []string{"debug"}, "debug build", "true: far slower"},
	{"buildInfo", []string{"maxBsonObjectSize"}, "max document bytes", "largest document"},
	{"getCmdLineOpts", []string{"parsed", "storage", "journal", "enabled"}, "journal", "off: acknowledged writes may be lost for up to a minute"},
	{"getCmdLineOpts", []string{"parsed", "storage", "journal", "commitIntervalMs"}, "journal interval ms", "how long a write may wait for others to share its flush"},
	{"getCmdLineOpts", []string{"parsed", "storage", "wiredTiger", "engineConfig", "cacheSizeGB"}, "cache asked for", "the cache's size as it was set"},
	{"getCmdLineOpts", []string{"parsed", "replication", "replSetName"}, "replica set", "every write goes to the log of operations as well"},
	{"getCmdLineOpts", []string{"parsed", "operationProfiling", "mode"}, "profiling", "recording operations costs time in each"},
	{"getCmdLineOpts", []string{"parsed", "security", "authorization"}, "authorization", "whether users are checked"},
}

// Settings reads back what the server says of itself. The write concern is the measured connections' own.
func (d *database) Settings(ctx context.Context) (settings drivers.Settings, err error) {
	answers := make(map[string]bson.Raw)
	values := make(map[string]string)
	for _, fact := range facts {
		answer, asked := answers[fact.command]
		if !asked {
			// A user without the privilege is not told; then the tier cannot be confirmed, which is said below.
			if answer, err = d.run(ctx, "admin", fact.command); err != nil && drivers.ErrorClassOf(err) != drivers.ClassOther {
				return settings, fmt.Errorf("read back the settings: %w", err)
			}
			answers[fact.command] = answer
		}
		value, err := answer.LookupErr(fact.path...)
		if err != nil {
			continue
		}
		text := value.String()
		if s, ok := value.StringValueOK(); ok {
			text = s
		} else if n, ok := value.AsInt64OK(); ok {
			text = fmt.Sprint(n)
		}
		values[fact.name] = text
		settings.Values = append(settings.Values, drivers.Setting{Name: fact.name, Value: text, Why: fact.why})
	}
	journal := d.config.WriteConcern.Journal != nil && *d.config.WriteConcern.Journal
	settings.Values = append(settings.Values,
		drivers.Setting{Name: "write concern", Value: fmt.Sprintf("w: %v, j: %v", d.config.WriteConcern.W, journal), Why: "j: a write is acknowledged when the journal was flushed to the device"},
		drivers.Setting{Name: "read concern", Value: "local", Why: "reads see what the server has, acknowledged elsewhere or not"},
		drivers.Setting{Name: "retries", Value: "off", Why: "an operation that failed is a failed operation"},
	)
	settings.Tier, settings.Reason = tierIn(values, journal)
	return settings, nil
}

// tierIn tells the durability tier that the server's words and our write concern give.
//
//   - os: WiredTiger keeps the documents, its journal is not switched off, and writes wait until it was flushed (j: true).
//   - none: writes are acknowledged from memory, or nothing is ever written to disk. The journal lies in the process for up to 100 ms.
func tierIn(values map[string]string, journal bool) (drivers.Tier, string) {
	storage := values["storage engine"]
	reason := fmt.Sprintf("storage engine %q, persistent %q, journal %q, j: %v", storage, values["persistent"], values["journal"], journal)
	switch {
	case storage == "":
		return "", reason
	case storage != "wiredTiger" && values["persistent"] != "false":
		return "", reason
	case values["persistent"] == "false" || values["journal"] == "false" || !journal:
		return drivers.TierNone, reason
	}
	return drivers.TierOS, reason
}
