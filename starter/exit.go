package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/durabench/durabench/bench/spec"
)

// The exit codes, by class. This is the one place that documents them; `starter --help` prints exitCodesHelp.
const (
	exitOK             = 0 // no leg failed, is invalid or overloaded, or the command did what it says
	exitLegs           = 1 // a leg failed, is invalid or overloaded
	exitInfrastructure = 2 // no Temporal server, no database, no disk space …
	exitInterrupted    = 3 // cancelled or interrupted
	exitUsage          = 4 // a flag, a spec or an argument is wrong; nothing was started
)

const exitCodesHelp = `Exit codes:
  0  done; no leg that the engine supports failed, is invalid or overloaded
  1  a leg failed, is invalid (its answers were wrong, or its index was not used) or overloaded (the rate was not kept)
  2  infrastructure: no Temporal server, database or disk space, a server that does not start …
  3  interrupted or cancelled
  4  usage: a flag, a spec or an argument is wrong; nothing was started
(go run maps every code but 0 to 1; build the program for scripts that look at the class.)`

// exitError carries an exit code up to main.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usage marks err as the user's input being wrong.
func usage(err error) error { return &exitError{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// exitCode classes err and prints it, unless the command has shown it already.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	var e *exitError
	var problems spec.Problems
	code := exitInfrastructure
	switch {
	case errors.As(err, &e):
		code = e.code
	case errors.As(err, &problems), strings.HasPrefix(err.Error(), "unknown command "): // cobra has no type for it
		code = exitUsage
	case errors.Is(err, context.Canceled):
		code = exitInterrupted
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(stderr, "starter:", text)
	}
	return code
}

// errShown ends a command with a code whose reason is on the screen already.
type errShown struct{}

func (errShown) Error() string { return "" }
