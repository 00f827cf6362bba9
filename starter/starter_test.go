package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/temporal"
	"github.com/durabench/durabench/workflows"
)

// call runs a command line that needs no server.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("DURABENCH_HOME", t.TempDir())
	var out, errs bytes.Buffer
	code = execute(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestEveryCommandHasHelpAndAnExample(t *testing.T) {
	a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			if child.Hidden {
				continue
			}
			if child.Short == "" || child.Example == "" {
				t.Errorf("%s: no summary or no example", child.CommandPath())
			}
			visit(child)
		}
	}
	visit(a.root())
	if code, out, _ := call(t, "--help"); code != exitOK || !strings.Contains(out, "Exit codes:") {
		t.Errorf("help: exit %d, exit codes missing:\n%s", code, out)
	}
	if code, out, _ := call(t, "completion", "bash"); code != exitOK || len(out) < 1000 {
		t.Errorf("completion: exit %d, %d bytes", code, len(out))
	}
}

func TestWrongInputIsUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"nonsense"}, "nonsense"},
		{[]string{"plan"}, "--database"},
		{[]string{"plan", "-d", "sqlte", "-s", "10"}, "sqlite"},
		{[]string{"plan", "-d", "map", "-s", "10", "extra"}, "extra"},
		{[]string{"plan", "-d", "map", "-s", "ten"}, "ten"},
		{[]string{"plan", "-d", "sqlite", "-s", "10", "--engine", "reeders=3"}, "readers"},
		{[]string{"plan", "-d", "sqlite", "-s", "10", "--engine", "readers=x"}, "readers"},
		{[]string{"plan", "-d", "map", "-s", "10", "--no-such-flag"}, "no-such-flag"},
		{[]string{"plan", "--matrix", ""}, "all-engines"},
		{[]string{"schedule", "--matrix", "all-engines", "--cron", ""}, "--cron is empty"},
		{[]string{"engines", "--format", "yaml"}, "yaml"},
		{[]string{"engines", "--color", "blue"}, "blue"},
		{[]string{"engines", "redish"}, "redis"},
		{[]string{"list", "--limit", "0"}, "--limit"},
		{[]string{"show"}, "arg"},
		{[]string{"plan", "--matrix", "all-engine"}, "all-engines"},
		{[]string{"plan", "--matrix", "all-engines", "-s", "10"}, "--samples does not go with --matrix"},
		{[]string{"run", "--matrix", "all-engines", "--host", "a,b"}, "s3://"},
		{[]string{"run", "--matrix", "all-engines", "--host", "a,,b"}, "--host"},
		{[]string{"schedule"}, "--matrix"},
		{[]string{"schedule", "--matrix", "all-engines", "--note", "x"}, "give --cron"},
		{[]string{"schedule", "--matrix", "all-engines", "--cron", "0 2 * *"}, "five fields"},
		{[]string{"schedule", "--matrix", "all-engines", "--cron", "0 2 * * *", "--time-zone", "Mars/Base"}, "Mars/Base"},
		{[]string{"schedule", "--matrix", "all-engines", "--cron", "0 2 * * *", "--catch-up", "1s"}, "at least a minute"},
		{[]string{"pull", "../etc"}, "../etc"},
		{[]string{"show", "../etc"}, "../etc"},
	} {
		code, out, errs := call(t, test.args...)
		if code != exitUsage || !strings.Contains(errs, test.want) || out != "" {
			t.Errorf("%v: exit %d, want %d naming %q and nothing on stdout\nstdout: %s\nstderr: %s", test.args, code, exitUsage, test.want, out, errs)
		}
	}
}

func TestPlanPrintsTheStepsOfARun(t *testing.T) {
	code, out, errs := call(t, "plan", "-d", "sqlite", "-s", "1k", "-c", "2", "-t", "3", "--format", "json")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var printed struct{ Plan plan.Plan }
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		t.Fatal(err)
	}
	var legs []string
	for _, step := range printed.Plan.Timed() {
		legs = append(legs, step.ID)
		if step.Samples != 1000 || step.Clients != 2 || step.Threads != 3 {
			t.Errorf("step %+v, want 1000 operations, 2 × 3", step)
		}
	}
	if want := []string{"create", "read", "update", "delete"}; !slices.Equal(legs, want) {
		t.Errorf("legs %v, want %v", legs, want)
	}
	if code, out, _ := call(t, "plan", "-d", "sqlite", "-s", "1k"); code != exitOK || !strings.Contains(out, "loaded → updated") {
		t.Errorf("table: exit %d\n%s", code, out)
	}
}

func TestEnginesListsEveryRegistration(t *testing.T) {
	_, out, _ := call(t, "engines", "--format", "json")
	var rows []engineRow
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
		if row.Title == "" || len(row.Servers) == 0 || len(row.Tiers) == 0 {
			t.Errorf("engine %+v lacks something", row)
		}
	}
	if !slices.Equal(names, drivers.Names()) {
		t.Errorf("engines %v, want %v", names, drivers.Names())
	}
}

// Workflows must not import infra, so both name the search attributes.
func TestWorkflowsAndServerAgreeOnSearchAttributes(t *testing.T) {
	registered := temporal.Attributes()
	for _, key := range []string{
		workflows.EngineAttribute.GetName(), workflows.SpecAttribute.GetName(), workflows.HostAttribute.GetName(), workflows.VerdictAttribute.GetName(),
	} {
		if _, ok := registered[key]; !ok {
			t.Errorf("workflows set search attribute %s, which no server of ours has", key)
		}
	}
}

func TestLinesTellEachThingOnce(t *testing.T) {
	var out bytes.Buffer
	a := &app{}
	screen := a.newDisplay(&out)
	running := legView{ID: "read", Title: "Read", Total: 1000, Done: 10, Running: true, Rate: 100}
	finished := legView{ID: "read", Title: "Read", Total: 1000, Done: 1000, Finished: true, Verdict: result.Valid, Headline: "100/s"}
	for _, view := range []runView{
		{Waiting: "reaching the agent"}, // gone at the next look: not worth a line
		{Legs: []legView{running}},
		{Legs: []legView{running}},
		{Waiting: "counting the rows", Legs: []legView{running}},
		{Waiting: "counting the rows", Legs: []legView{running}},
		{Waiting: "counting the rows", Legs: []legView{running}},
		{Legs: []legView{finished}},
		{Legs: []legView{finished}},
	} {
		screen.show(view)
	}
	screen.close()
	if want := "read: started, 1,000 operations\ncounting the rows …\nread: valid, 100/s\n"; out.String() != want {
		t.Errorf("lines:\n%s\nwant:\n%s", out.String(), want)
	}
}

// What takes long is told again, with new numbers, and not at every look.
func TestLinesTellWhatGoesOn(t *testing.T) {
	var out bytes.Buffer
	screen := &lines{w: &out, shown: map[string]bool{}}
	for _, done := range []string{"1", "200,000", "300,000", "400,000"} {
		if done == "400,000" {
			screen.told = screen.told.Add(-often)
		}
		screen.show(runView{Waiting: "expected answers: " + done + " of 1,000,000 rows"})
	}
	if want := "expected answers: 200,000 of 1,000,000 rows …\nexpected answers: 400,000 of 1,000,000 rows …\n"; out.String() != want {
		t.Errorf("lines:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestStatusSaysHowFarALegIs(t *testing.T) {
	for _, test := range []struct {
		leg  legView
		want string
	}{
		{legView{Running: true, Done: 1100, Total: 2000, Rate: 100, Left: 9 * time.Second}, "1,100/2,000  100/s  ETA 9s"},
		{legView{Running: true, Done: 50, Rate: 10, Warming: true, Window: 30 * time.Second}, "warming up, 50 operations  10/s"},
		{legView{Running: true, Done: 50, Rate: 10, Elapsed: 4900 * time.Millisecond, Window: 30 * time.Second, Failed: 2, Left: 25 * time.Second, P99: time.Millisecond},
			"5s of 30s, 50 operations  10/s  p99 1ms  2 failed  ETA 25s"},
		{legView{Finished: true, Verdict: result.Valid, Headline: "10/s"}, "10/s"},
		{legView{Finished: true, Verdict: result.Invalid, Why: "index not used"}, "invalid: index not used"},
		{legView{Total: 5}, ""},
	} {
		if got := test.leg.status(); got != test.want {
			t.Errorf("%+v: %q, want %q", test.leg, got, test.want)
		}
	}
}
