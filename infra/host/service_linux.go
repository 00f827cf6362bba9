package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// service is the knob of systemd units. An object is a unit's name; its value is "running" or "stopped".
type service struct {
	system
	kernel control
}

const (
	running = "running"
	stopped = "stopped"
)

func (s service) read(ctx context.Context, object string) (string, error) {
	text, err := s.kernel.systemctl(ctx, "show", "--property=LoadState,ActiveState", "--", object)
	if err != nil {
		return "", err
	}
	states := map[string]string{}
	for line := range strings.Lines(text) {
		name, state, _ := strings.Cut(strings.TrimSpace(line), "=")
		states[name] = state
	}
	switch {
	case states["LoadState"] == "not-found":
		return "", fmt.Errorf("there is no unit of this name: %w", os.ErrNotExist)
	case states["ActiveState"] == "":
		return "", fmt.Errorf("systemctl does not say whether it runs: %q", text)
	}
	switch states["ActiveState"] {
	case "active", "activating", "reloading", "refreshing":
		return running, nil
	}
	return stopped, nil
}

func (s service) write(ctx context.Context, object, value string) error {
	verb := "stop"
	if value == running {
		verb = "start"
	}
	_, err := s.kernel.systemctl(ctx, verb, "--", object)
	return err
}

func (s system) serviceStep(names []string) step {
	return step{name: StepServices, asked: strings.Join(names, ", "), take: func(ctx context.Context, t *turn) (took, error) {
		if _, err := os.Stat(s.path("run/systemd/system")); err != nil {
			return took{}, errors.New("services are stopped through systemd, which does not run here")
		}
		var before, after []string
		for _, name := range names {
			if s.runsIn(name) {
				return took{}, fmt.Errorf("%s: this program runs in it", name)
			}
			was, err := t.change(ctx, knobService, name, stopped)
			if errors.Is(err, exec.ErrNotFound) {
				return took{}, errors.New("systemctl is not on the PATH")
			}
			if err != nil {
				return took{before: strings.Join(before, ", ")}, fmt.Errorf("%s: %w", name, err)
			}
			before, after = append(before, name+" "+was), append(after, name+" "+stopped)
		}
		return took{before: strings.Join(before, ", "), after: strings.Join(after, ", ")}, nil
	}}
}

// runsIn tells whether this process belongs to a unit.
func (s system) runsIn(unit string) bool {
	if !strings.Contains(unit, ".") {
		unit += ".service"
	}
	groups, err := os.ReadFile(s.path(fmt.Sprintf("proc/%d/cgroup", s.pid)))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(groups)) {
		if strings.Contains(strings.TrimSpace(line)+"/", "/"+unit+"/") {
			return true
		}
	}
	return false
}
