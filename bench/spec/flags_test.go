package spec

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// changes gives for each flag a value other than its default, and what must be given beside it for the value to show.
var changes = map[string]struct {
	args   []string
	beside []string
}{
	"database":              {args: []string{"--database=postgres"}},
	"samples":               {args: []string{"--samples=200"}},
	"clients":               {args: []string{"--clients=2"}},
	"threads":               {args: []string{"--threads=2"}},
	"key":                   {args: []string{"--key=uuid"}},
	"random":                {args: []string{"--random"}},
	"corpus-seed":           {args: []string{"--corpus-seed=8"}},
	"name":                  {args: []string{"--name=other"}},
	"server":                {args: []string{"--server=embedded"}},
	"endpoint":              {args: []string{"--endpoint=postgres://db"}, beside: []string{"-d", "postgres"}},
	"image":                 {args: []string{"--image=postgres:17"}},
	"isolation":             {args: []string{"--isolation=none"}},
	"isolation-without":     {args: []string{"--isolation-without=swap"}},
	"isolation-load":        {args: []string{"--isolation-load=0.1"}},
	"isolation-wait":        {args: []string{"--isolation-wait=5s"}},
	"stop-services":         {args: []string{"--stop-services=cron.service"}},
	"nice":                  {args: []string{"--nice=-5"}},
	"ionice":                {args: []string{"--ionice=idle"}},
	"sync":                  {args: []string{"--sync"}},
	"persisted":             {args: []string{"--persisted"}},
	"optimised":             {args: []string{"--optimised"}},
	"mode":                  {args: []string{"--mode=load"}},
	"data-dir":              {args: []string{"--data-dir=elsewhere"}},
	"operation-timeout":     {args: []string{"--operation-timeout=5s"}},
	"verify":                {args: []string{"--verify=all"}},
	"max-error-rate":        {args: []string{"--max-error-rate=0.5"}},
	"show-sample":           {args: []string{"--show-sample"}},
	"config":                {args: []string{"--config=other"}},
	"engine":                {args: []string{"--engine=journal=delete"}},
	"skip-scans":            {args: []string{"--skip-scans"}, beside: []string{"--config=scans"}},
	"measurement-time":      {args: []string{"--measurement-time=7s"}, beside: []string{"--config=scans"}},
	"warmup-time":           {args: []string{"--warmup-time=0s"}, beside: []string{"--config=scans"}},
	"min-iterations":        {args: []string{"--min-iterations=11"}, beside: []string{"--config=scans"}},
	"max-iterations":        {args: []string{"--max-iterations=11"}, beside: []string{"--config=scans"}},
	"rate":                  {args: []string{"--rate=100"}},
	"arrival":               {args: []string{"--arrival=poisson"}, beside: []string{"--rate=100"}},
	"pull":                  {args: []string{"--pull=always"}, beside: []string{"-d", "postgres", "--server", "docker"}},
	"cpus":                  {args: []string{"--cpus=0-1"}, beside: []string{"-d", "postgres", "--server", "docker"}},
	"memory":                {args: []string{"--memory=8GiB"}, beside: []string{"-d", "postgres", "--server", "docker"}},
	"keep-on-failure":       {args: []string{"--keep-on-failure"}, beside: []string{"-d", "postgres", "--server", "docker"}},
	"skip-indexes":          {args: []string{"--skip-indexes"}, beside: []string{"--config=indexes"}},
	"vector-warmup-seconds": {args: []string{"--vector-warmup-seconds=5"}, beside: []string{"--config=searches"}},
	"skip-batches":          {args: []string{"--skip-batches"}, beside: []string{"--config=batches"}},
}

// No flag is taken and then ignored: each changes the spec or is refused with a reason that names it.
func TestEveryFlagIsUsed(t *testing.T) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	NewFlags(set)
	// outcome is the spec, or what is wrong with it.
	outcome := func(args ...string) string {
		request, err := build(t, append([]string{"-d", "sqlite", "-s", "100", "--corpus-seed=7"}, args...)...)
		if err != nil {
			return err.Error()
		}
		return string(request.Spec.canonical())
	}
	refused := map[string]bool{}
	for _, l := range later {
		refused[l.name] = true
	}
	flags := 0
	set.VisitAll(func(f *pflag.Flag) {
		flags++
		if refused[f.Name] {
			arg := "--" + f.Name
			if f.NoOptDefVal == "" {
				arg += "=1"
			}
			got := outcome(arg)
			if !strings.HasPrefix(got, "--"+f.Name+": not available yet") && !strings.HasPrefix(got, "--"+f.Name+": has no meaning here") {
				t.Errorf("%s: %s", arg, got)
			}
			if !f.Hidden {
				t.Errorf("--%s is shown in the help although it is refused", f.Name)
			}
			return
		}
		change, ok := changes[f.Name]
		if !ok {
			t.Errorf("--%s: this test does not know how to change it", f.Name)
			return
		}
		if without, with := outcome(change.beside...), outcome(append(change.beside, change.args...)...); without == with {
			t.Errorf("--%s changes nothing: %s", f.Name, with)
		}
		if f.Usage == "" {
			t.Errorf("--%s has no help", f.Name)
		}
	})
	if flags != len(changes)+len(later) {
		t.Errorf("%d flags, the test knows %d", flags, len(changes)+len(later))
	}
}

// Names, shorthands and arity as users of crud-bench know them.
func TestFlagsAreCrudBenchs(t *testing.T) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	NewFlags(set)
	var got []string
	set.VisitAll(func(f *pflag.Flag) {
		text := "--" + f.Name
		if f.Shorthand != "" {
			text = "-" + f.Shorthand + " " + text
		}
		if f.NoOptDefVal == "" {
			text += " value"
		}
		got = append(got, text)
	})
	want := []string{
		"-n --name value", "-d --database value", "-i --image value", "-p --privileged", "-e --endpoint value", "-b --blocking value",
		"-w --workers value", "-c --clients value", "-t --threads value", "-s --samples value", "-r --random", "--sync",
		"--operation-timeout value", "--persisted", "--optimised", "-k --key value", "--show-sample", "--pid value", "--store-results",
		"--storage-endpoint value", "--config value", "--skip-scans", "--skip-batches", "--skip-indexes", "--emit-phase-markers",
		"--corpus-seed value", "--ground-truth-cache value", "--vector-warmup-seconds value", "--measurement-time value",
		"--warmup-time value", "--min-iterations value", "--max-iterations value", "--mode value", "--data-dir value",
		// Ours.
		"--rate value", "--arrival value", "--engine value", "--server value", "--verify value", "--max-error-rate value", "--pull value", "--cpus value", "--memory value",
		"--keep-on-failure", "--isolation value", "--isolation-without value", "--isolation-load value", "--isolation-wait value",
		"--stop-services value", "--nice value", "--ionice value",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags differ (-want +got):\n%s", diff)
	}
}

func TestDefaultsShowInHelp(t *testing.T) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	NewFlags(set)
	help := set.FlagUsages()
	for _, want := range []string{
		"(default 1800s)", `(default "integer")`, `(default ".durabench-data")`, `(default "sample")`, `(default "all")`, "(env DURABENCH_CONFIG)",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("the help does not show %s", want)
		}
	}
	if strings.Contains(help, "privileged") {
		t.Error("the help shows flags that are refused")
	}
}
