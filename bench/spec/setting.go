package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
)

// form is how a setting is written in a file.
type form string

// The forms. A count may also be text, "100k", as on the command line.
const (
	formText     form = "text"
	formCount    form = "count"
	formTruth    form = "true or false"
	formRatio    form = "number"
	formDuration form = "duration"
)

// setting is one thing a user may ask for, by a flag or by a top-level key of the file. Both are brought to text and read by the same
// function, so that they cannot come to mean different things.
type setting struct {
	key   string // in the file
	flag  string // on the command line; empty: the key with dashes
	short string
	form  form
	usual string // the value when none is given, as text; empty: none
	help  string
	set   func(*draft, string) error
}

// name returns the flag's name.
func (s setting) name() string {
	if s.flag != "" {
		return s.flag
	}
	return strings.ReplaceAll(s.key, "_", "-")
}

// settings lists every setting once; flags, the keys of files, defaults and help all come from here.
var settings = append([]setting{
	{key: "database", short: "d", form: formText, help: "engine to benchmark", set: text(func(d *draft) *string { return &d.Database })},
	{key: "samples", short: "s", form: formCount, help: "rows, and operations of each leg: 100000, 100_000, 100k, 1M",
		set: count(func(d *draft) *int64 { return &d.Samples })},
	{key: "clients", short: "c", form: formCount, usual: "1", help: "clients", set: count(func(d *draft) *int64 { return &d.clients })},
	{key: "threads", short: "t", form: formCount, usual: "1", help: "operations in flight per client",
		set: count(func(d *draft) *int64 { return &d.threads })},
	{key: "key", short: "k", form: formText, usual: "integer", help: "key type: integer, string26, string90, string250, string506, uuid",
		set: func(d *draft, text string) (err error) { d.Key, err = oneOf(text, corpus.KeyKinds()...); return err }},
	{key: "random", short: "r", form: formTruth, usual: "false", help: "scatter the keys instead of counting up",
		set: truth(func(d *draft) *bool { return &d.Random })},
	{key: "seed", flag: "corpus-seed", form: formCount, help: "seed of keys and rows; chosen and recorded when not given",
		set: func(d *draft, text string) (err error) { d.Seed, err = parseSeed(text); return err }},
	{key: "name", short: "n", form: formText, help: "name of the run; load and query find each other by it",
		set: text(func(d *draft) *string { return &d.Name })},
	{key: "server", form: formText, help: "how to have the server: embedded, process, docker or endpoint (default the first that works)",
		set: func(d *draft, text string) (err error) { d.Server, err = oneOf(text, servers...); return err }},
	{key: "endpoint", short: "e", form: formText, help: "address of a running server; its password is never stored",
		set: func(d *draft, text string) (err error) {
			d.Endpoint, d.credentials.User, d.credentials.Password, err = SplitEndpoint(text)
			return err
		}},
	{key: "image", short: "i", form: formText, help: "container image in place of the engine's own", set: text(func(d *draft) *string { return &d.Image })},
	{key: "pull", form: formText, help: "when to fetch the image: missing, always or never (default missing)",
		set: func(d *draft, text string) (err error) { d.Pull, err = oneOf(text, pulls...); return err }},
	{key: "cpus", form: formText, help: "CPUs that the server's container may run on, e.g. 0-3,8",
		set: func(d *draft, text string) (err error) { d.CPUs, err = parseCPUs(text); return err }},
	{key: "memory", form: formText, help: "memory that the server's container may use, swap included, e.g. 8GiB",
		set: func(d *draft, text string) (err error) { d.Memory, err = parseBytes(text); return err }},
	{key: "keep_on_failure", form: formTruth, usual: "false", help: "leave the container and volume of a run that fails, stopped, to be looked at",
		set: truth(func(d *draft) *bool { return &d.KeepOnFailure })},
	{key: "sync", form: formTruth, usual: "false", help: "flush every write to the device before it is acknowledged",
		set: truth(func(d *draft) *bool { return &d.Sync })},
	{key: "persisted", form: formTruth, usual: "false", help: "let an in-memory engine write to disk too",
		set: truth(func(d *draft) *bool { return &d.Persisted })},
	{key: "optimised", form: formTruth, usual: "false", help: "tune the server for this host",
		set: truth(func(d *draft) *bool { return &d.Optimised })},
	{key: "mode", form: formText, usual: string(ModeAll), help: "what to run: all, load (keep the data) or query (on kept data)",
		set: func(d *draft, text string) (err error) { d.Mode, err = ParseMode(text); return err }},
	{key: "data_dir", form: formText, usual: DefaultDataDir, help: "where load keeps and query finds its data; with --mode all, where the run's own files go meanwhile (default then: its working directory)",
		set: text(func(d *draft) *string { return &d.DataDir })},
	{key: "operation_timeout", form: formDuration, usual: "1800s", help: "longest time for one operation",
		set: func(d *draft, text string) error { return d.OperationTimeout.Set(text) }},
	{key: "verify", form: formText, usual: string(load.VerifySample), help: "answers to check by content: all, sample, none",
		set: func(d *draft, text string) (err error) {
			d.Verify, err = oneOf(text, load.VerifyAll, load.VerifySample, load.VerifyNone)
			return err
		}},
	{key: "max_error_rate", form: formRatio, usual: "0", help: "share of failed operations, 0 to 1, past which a leg stops; 0: at the first",
		set: func(d *draft, text string) (err error) {
			if d.MaxErrorRate, err = strconv.ParseFloat(text, 64); err != nil {
				return fmt.Errorf("%q is not a number from 0 to 1", text)
			}
			return nil
		}},
	{key: "show_sample", form: formTruth, usual: "false", help: "print one row after the results",
		set: truth(func(d *draft) *bool { return &d.ShowSample })},
	{key: "measurement_time", form: formDuration, usual: "30s", help: "window of scans and mixes that have no number of iterations",
		set: func(d *draft, text string) error { return d.timing.Window.Set(text) }},
	{key: "warmup_time", form: formDuration, usual: "5s", help: "time before the window in which operations run and are not timed; 0s: none",
		set: func(d *draft, text string) error { return d.timing.Warmup.Set(text) }},
	{key: "vector_warmup_seconds", form: formCount, usual: "30", help: "longest warm-up before a leg that searches for nearest neighbours, in seconds; it ends sooner when the rate has come to rest",
		set: func(d *draft, text string) error {
			var seconds int64
			err := count(func(*draft) *int64 { return &seconds })(d, text)
			d.SearchWarmup = Duration(time.Duration(min(seconds, math.MaxInt32)) * time.Second)
			return err
		}},
	{key: "min_iterations", form: formCount, usual: "10", help: "least operations of a window, however long they take",
		set: count(func(d *draft) *int64 { return &d.timing.MinSamples })},
	{key: "max_iterations", form: formCount, usual: "10M", help: "most operations of a window",
		set: count(func(d *draft) *int64 { return &d.timing.MaxSamples })},
	{key: "rate", form: formRatio, help: "operations per second to start, whether or not earlier ones came back (open loop); without it each thread waits for its last one",
		set: func(d *draft, text string) (err error) {
			if d.rate.PerSecond, err = strconv.ParseFloat(text, 64); err != nil {
				return fmt.Errorf("%q is not a number of operations per second", text)
			}
			return nil
		}},
	{key: "arrival", form: formText, usual: ArrivalConstant, help: "how the operations of a rate arrive: constant or poisson",
		set: func(d *draft, text string) (err error) {
			d.arrival, err = oneOf(text, ArrivalConstant, ArrivalPoisson)
			return err
		}},
	{key: "skip_scans", form: formTruth, usual: "false", help: "leave out the scans and mixes of the file",
		set: truth(func(d *draft) *bool { return &d.skipScans })},
	{key: "skip_batches", form: formTruth, usual: "false", help: "leave out the batches of the file",
		set: truth(func(d *draft) *bool { return &d.skipBatches })},
	{key: "skip_indexes", form: formTruth, usual: "false", help: "leave out the indexes of the file: scans run on the heap alone",
		set: truth(func(d *draft) *bool { return &d.skipIndexes })},
}, isolationSettings...)

// DefaultDataDir is where load keeps its data when nothing else is asked.
const DefaultDataDir = ".durabench-data"

// servers are the ways to have a server, pulls the times to fetch its image.
var (
	servers = []string{"embedded", "process", "docker", "endpoint"}
	pulls   = []string{"missing", "always", "never"}
)

// draft is a spec in the making, with what does not go into it.
type draft struct {
	Spec
	clients, threads                    int64
	skipScans, skipBatches, skipIndexes bool
	credentials                         Credentials
	timing                              Timing
	rate                                Rate
	arrival                             string
}

// text returns the function that sets a text, which must not be empty: an empty shell variable is more likely a slip than a wish.
func text(field func(*draft) *string) func(*draft, string) error {
	return func(d *draft, text string) error {
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("is empty")
		}
		*field(d) = text
		return nil
	}
}

// count returns the function that sets a count.
func count(field func(*draft) *int64) func(*draft, string) error {
	return func(d *draft, text string) (err error) {
		*field(d), err = ParseCount(text)
		return err
	}
}

// truth returns the function that sets a truth value.
func truth(field func(*draft) *bool) func(*draft, string) error {
	return func(d *draft, text string) error {
		switch text {
		case "true":
			*field(d) = true
		case "false":
			*field(d) = false
		default:
			return fmt.Errorf("%q is neither true nor false", text)
		}
		return nil
	}
}

// findSetting returns the setting with that key in files.
func findSetting(key string) (setting, bool) {
	for _, s := range settings {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}
