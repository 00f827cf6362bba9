package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Isolation is how hard a run tries to have its machine for itself, and with what. What is left out is chosen on the machine.
type Isolation struct {
	Level    string   `json:"level"`              // none, standard or strict
	Without  []string `json:"without,omitempty"`  // steps to leave out, by name
	Services []string `json:"services,omitempty"` // systemd units to stop meanwhile
	Load     float64  `json:"load,omitempty"`     // load of others below which the machine is quiet
	Wait     Duration `json:"wait,omitempty"`     // at most so long until it is
	Nice     *int     `json:"nice,omitempty"`     // of agent and server, -20 to 19
	IO       string   `json:"io,omitempty"`       // their I/O priority: "realtime/N", "best-effort/N" or "idle"
}

// levels are the levels of isolation, the default first.
var levels = []string{"standard", "strict", "none"}

// isolationSettings are the settings of a run's isolation. Names of steps are the machine's business, see Facts.CheckIsolation.
var isolationSettings = []setting{
	{key: "isolation", form: formText, usual: levels[0],
		help: "have the machine to itself: standard (what is refused is noted), strict (then nothing is measured) or none",
		set:  func(d *draft, text string) (err error) { d.Isolation.Level, err = oneOf(text, levels...); return err }},
	{key: "isolation_without", form: formText, help: "steps of the isolation to leave out, e.g. swap,caches; starter doctor names them all",
		set: nameList(func(d *draft) *[]string { return &d.Isolation.Without })},
	{key: "isolation_load", form: formRatio, help: "load of others below which the machine is quiet (default 0.5)",
		set: func(d *draft, text string) (err error) {
			if d.Isolation.Load, err = strconv.ParseFloat(text, 64); err != nil || !(d.Isolation.Load > 0) {
				return fmt.Errorf("%q is not a number above 0", text)
			}
			return nil
		}},
	{key: "isolation_wait", form: formDuration, help: "longest wait for a quiet machine (default 1m, strict 15m)",
		set: func(d *draft, text string) error {
			if err := d.Isolation.Wait.Set(text); err != nil {
				return err
			}
			if d.Isolation.Wait <= 0 {
				return fmt.Errorf("must be longer than nothing, is %s; --isolation-without quiet does not wait", d.Isolation.Wait)
			}
			return nil
		}},
	{key: "stop_services", form: formText, help: "systemd units to stop during the run, e.g. cron.service,unattended-upgrades.service",
		set: nameList(func(d *draft) *[]string { return &d.Isolation.Services })},
	{key: "nice", form: formText, help: "nice value of agent and server, -20 to 19 (default: as it is)",
		set: func(d *draft, text string) error {
			nice, err := strconv.Atoi(text)
			if err != nil || nice < -20 || nice > 19 {
				return fmt.Errorf("%q is not a whole number from -20 to 19", text)
			}
			d.Isolation.Nice = &nice
			return nil
		}},
	{key: "ionice", form: formText, help: "I/O priority of agent and server: realtime/N, best-effort/N (0 first to 7 last) or idle (default: as it is)",
		set: text(func(d *draft) *string { return &d.Isolation.IO })},
}

// nameList returns the function that sets a list of names, separated by commas.
func nameList(field func(*draft) *[]string) func(*draft, string) error {
	return func(d *draft, text string) error {
		var list []string
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name == "" {
				return fmt.Errorf("%q has an empty name; names are separated by commas", text)
			}
			list = append(list, name)
		}
		*field(d) = list
		return nil
	}
}

// checkIsolation has the machine's part of the program look at what is asked of it.
func (b *builder) checkIsolation() {
	for _, s := range isolationSettings {
		if b.bad[s.key] {
			return
		}
		if s.key != "isolation" && b.Isolation.Level == "none" && b.given(s.key) {
			b.problem(s.key, "belongs to isolation, and isolation none does nothing: leave one of them out")
		}
	}
	if b.facts.CheckIsolation == nil {
		return
	}
	if err := b.facts.CheckIsolation(&b.Spec); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			b.problem("isolation", "%s", strings.TrimPrefix(line, "isolation: "))
		}
	}
}
