package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/process"
)

// starter is an activity that comes to what start says.
type starter struct{ start func() error }

func (s *starter) Try(ctx context.Context) (StartedServer, error) {
	return attempt(ctx, "starting it", maxStarts, maxExits, func(context.Context, *beat) (StartedServer, error) { return StartedServer{}, s.start() })
}

// try makes one attempt after those, and returns its error and what it told last.
func try(t *testing.T, before Starts, start func() error) (told Starts, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	s := &starter{start}
	env.RegisterActivity(s)
	env.SetHeartbeatDetails(Heartbeat{Starts: before})
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var beat Heartbeat
		require.NoError(t, details.Get(&beat))
		told = beat.Starts
	})
	_, err = env.ExecuteActivity(s.Try)
	return told, err
}

func TestOnlyTheServersOwnFailuresAreCounted(t *testing.T) {
	failing := func() error { return passing(TypeInfrastructure, errors.New("it did not answer")) }
	exiting := func() error { return exitedError{passing(TypeInfrastructure, errors.New("exit status 1"))} }
	for name, test := range map[string]struct {
		before Starts
		start  func() error
		final  bool
		after  Starts
		text   string
	}{
		"the first":               {Starts{}, failing, false, Starts{Failed: 1}, "did not answer"},
		"the last":                {Starts{Failed: maxStarts - 1}, failing, true, Starts{}, "given up after 3 attempts"},
		"the first exit":          {Starts{Failed: 1}, exiting, false, Starts{Failed: 2, Exited: 1}, "exit status 1"},
		"an exit after another":   {Starts{Failed: 1, Exited: 1}, exiting, true, Starts{}, "ended by itself 2 times"},
		"another fault after one": {Starts{Failed: 1, Exited: 1}, failing, false, Starts{Failed: 2}, "did not answer"},
		"a fault that will stay":  {Starts{}, func() error { return permanent(TypeSpec, errors.New("no such thing")) }, true, Starts{}, "no such thing"},
		"a worker that was lost":  {Starts{Failed: 1}, nil, false, Starts{Failed: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			start := test.start
			if start == nil {
				start = func() error { return nil }
			}
			told, err := try(t, test.before, start)
			if test.text == "" {
				require.NoError(t, err)
				return
			}
			var application *temporal.ApplicationError
			require.ErrorAs(t, err, &application)
			require.Contains(t, application.Message(), test.text)
			require.Equal(t, test.final, application.NonRetryable())
			if !test.final {
				require.Equal(t, test.after, told, "the next attempt knows of this one")
			}
		})
	}
}

func TestErrorsOfServersAreOfTheirClass(t *testing.T) {
	var s Server
	of := func(change func(*spec.Spec)) Run {
		run := Run{ID: "run-1"}
		change(&run.Spec)
		return run
	}
	anyMode := of(func(*spec.Spec) {})
	asked := of(func(s *spec.Spec) { s.Server = "docker" })
	named := of(func(s *spec.Spec) { s.Image = "postgres:99" })
	unsupported := fmt.Errorf("open: %w", drivers.Unsupported{Why: "another make"})
	for name, test := range map[string]struct {
		run   Run
		err   error
		kind  string // "" for another way to be tried
		final bool
	}{
		"no image, any way":               {anyMode, docker.ErrWrongImage, "", true},
		"no registry, any way":            {anyMode, docker.ErrRegistry, "", false},
		"no image, in a container":        {asked, docker.ErrWrongImage, TypeMissingBinary, true},
		"no registry, in a container":     {asked, docker.ErrRegistry, TypeInfrastructure, false},
		"the user's image is none":        {named, docker.ErrWrongImage, TypeSpec, true},
		"the user's image is not fetched": {named, docker.ErrRegistry, TypeInfrastructure, false},
		"an image without the program":    {asked, fmt.Errorf("%w: %w", docker.ErrWrongImage, docker.ErrExited), TypeMissingBinary, true},
		"no command":                      {asked, docker.ErrOptions, TypeSpec, true},
		"another make":                    {asked, unsupported, TypeSpec, true},
		"it exited":                       {asked, docker.ErrExited, TypeInfrastructure, false},
		"it does not answer":              {asked, docker.ErrNotReady, TypeInfrastructure, false},
	} {
		t.Run("container: "+name, func(t *testing.T) { requireClass(t, s.containerError(test.run, test.err), test.kind, test.final) })
	}
	for name, test := range map[string]struct {
		run   Run
		err   error
		kind  string
		final bool
	}{
		"no account, any way": {anyMode, process.ErrAccount, "", true},
		"no account":          {of(func(s *spec.Spec) { s.Server = "process" }), process.ErrAccount, TypePreflight, true},
		"no command":          {anyMode, process.ErrOptions, TypeSpec, true},
		"not installed":       {anyMode, process.ErrNotInstalled, "", true},
		"another make":        {anyMode, unsupported, TypeSpec, true},
		"it exited":           {anyMode, process.ErrExited, TypeInfrastructure, false},
	} {
		t.Run("process: "+name, func(t *testing.T) { requireClass(t, s.processError(test.run, test.err), test.kind, test.final) })
	}
}

func requireClass(t *testing.T, err error, kind string, final bool) {
	t.Helper()
	var unavailable *unavailableError
	if kind == "" {
		require.ErrorAs(t, err, &unavailable)
		require.Equal(t, final, !unavailable.passes)
		return
	}
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, kind, application.Type())
	require.Equal(t, final, application.NonRetryable())
}
