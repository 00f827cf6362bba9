package spec

import (
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// ConfigVariable is the environment variable that names the spec file when --config does not.
const ConfigVariable = "DURABENCH_CONFIG"

// Flags is the command line of a run, as text: Build reads the texts, so that a bad value is reported together with every other
// problem instead of alone.
type Flags struct {
	config *flag
	engine *flag
	given  map[string]*flag // by the key of their setting
	later  map[string]*flag // what is refused, by name
}

// flag is the value of one flag: the texts it was given.
type flag struct {
	kind   string // shown in help
	usual  string
	texts  []string
	repeat bool
}

// Set keeps the text; the last one counts, but for flags that repeat.
func (f *flag) Set(text string) error {
	if !f.repeat {
		f.texts = f.texts[:0]
	}
	f.texts = append(f.texts, text)
	return nil
}

// String returns the text that counts.
func (f *flag) String() string {
	if len(f.texts) == 0 {
		return f.usual
	}
	return strings.Join(f.texts, ",")
}

// Type names the kind of value in help texts.
func (f *flag) Type() string { return f.kind }

// set tells whether the flag was on the command line.
func (f *flag) set() bool { return len(f.texts) > 0 }

// kinds are the forms as help texts name them.
var kinds = map[form]string{formText: "string", formCount: "count", formTruth: "bool", formRatio: "number", formDuration: "duration"}

// later lists the flags of crud-bench whose ability is still to come or has no meaning here. They are taken and refused with a reason,
// never ignored, so that a command line moved over from there cannot quietly measure something else.
var later = []struct {
	name, short string
	bare        bool // takes no value
	why         string
}{
	{"privileged", "p", true, "has no meaning here: no container of ours needs it"},
	{"blocking", "b", false, "has no meaning here: Go makes threads for blocking calls as they are needed; use --clients and --threads for load"},
	{"workers", "w", false, "has no meaning here: Go schedules its own threads on all CPUs of the process; limit them with GOMAXPROCS or a CPU set"},
	{"pid", "", false, "has no meaning here: the processes of the database are found and sampled by themselves"},
	{"store-results", "", true, "not available yet"},
	{"storage-endpoint", "", false, "not available yet"},
	{"emit-phase-markers", "", true, "not available yet"},
	{"ground-truth-cache", "", false, "has no meaning here: exact neighbours are kept below the user's cache directory (XDG_CACHE_HOME), for all engines and runs"},
}

// NewFlags registers every flag of a run on set and returns where they arrive.
func NewFlags(set *pflag.FlagSet) *Flags {
	f := &Flags{given: map[string]*flag{}, later: map[string]*flag{}}
	for _, s := range settings {
		value := &flag{kind: kinds[s.form], usual: s.usual}
		added := set.VarPF(value, s.name(), s.short, s.help)
		if s.form == formTruth {
			added.NoOptDefVal = "true"
		}
		f.given[s.key] = value
	}
	f.config = &flag{kind: "file"}
	set.Var(f.config, "config", "spec or workload file (TOML), or the name of one that ships (env "+ConfigVariable+")")
	f.engine = &flag{kind: "key=value", repeat: true}
	set.Var(f.engine, "engine", "setting of the engine's driver, as in the file's [engine] table; repeatable")
	for _, l := range later {
		value := &flag{kind: "string"}
		if l.bare {
			value.kind = "bool"
		}
		added := set.VarPF(value, l.name, l.short, l.why)
		if l.bare {
			added.NoOptDefVal = "true"
		}
		added.Hidden = true
		f.later[l.name] = value
	}
	return f
}

// Config returns the spec file to read: that of --config, else that of the environment, else "".
func (f *Flags) Config() string {
	if f.config.set() {
		return f.config.String()
	}
	return os.Getenv(ConfigVariable)
}

// text returns what the flag of a setting was given.
func (f *Flags) text(key string) (string, bool) {
	value := f.given[key]
	return value.String(), value.set()
}

// options returns the settings of --engine.
func (f *Flags) options() (map[string]string, Problems) {
	options := map[string]string{}
	var problems Problems
	for _, text := range f.engine.texts {
		name, value, found := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !found || name == "" {
			problems = append(problems, Problem{Key: "--engine", Msg: "\"" + text + "\" is not of the form key=value"})
			continue
		}
		if _, twice := options[name]; twice {
			problems = append(problems, Problem{Key: "--engine", Msg: name + " is given twice"})
		}
		options[name] = strings.TrimSpace(value)
	}
	return options, problems
}

// refused returns a problem for each flag that was given but cannot be used.
func (f *Flags) refused() (problems Problems) {
	for _, l := range later {
		if f.later[l.name].set() {
			problems = append(problems, Problem{Key: "--" + l.name, Msg: l.why})
		}
	}
	return problems
}
