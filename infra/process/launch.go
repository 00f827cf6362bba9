package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Labels in the environment of the server's processes.
const (
	labelRun = "DURABENCH_RUN"
	labelDir = "DURABENCH_SERVER"
)

// kept are the variables that a server gets of our environment: what is needed to run at all, and nothing that could hold a secret or
// change how it behaves.
var kept = []string{"PATH", "HOME", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"}

// command makes a command that runs apart from us: in a session of its own, as the server's account, in the server's directory.
func (s *server) command(line []string) *exec.Cmd {
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = s.server
	cmd.Env = []string{"LC_ALL=C", labelRun + "=" + s.RunID, labelDir + "=" + s.Dir} // messages in English: they are read for faults
	for _, name := range kept {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.account.credential()}
	return cmd
}

// makeData makes a fresh data directory unless there is one already, and writes the engine's files.
func (s *server) makeData(ctx context.Context) error {
	if err := s.writeFiles(); err != nil {
		return err
	}
	if s.state.Initialised {
		return nil
	}
	// What an interrupted attempt left is of no use.
	if err := os.RemoveAll(s.data); err != nil {
		return directoryError(s.data, err)
	}
	if err := os.Mkdir(s.data, 0o700); err != nil {
		return directoryError(s.data, err)
	}
	if err := s.own(s.data); err != nil {
		return err
	}
	if s.Server.Init != nil {
		if line := s.Server.Init(s.launch); len(line) > 0 {
			if err := s.initialise(ctx, line); err != nil {
				return err
			}
		}
	}
	s.state.Initialised = true
	return s.state.write(s.Dir)
}

// initialise runs the command that makes a data directory.
func (s *server) initialise(ctx context.Context, line []string) error {
	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	var output strings.Builder
	cmd := s.command(line)
	cmd.Stdout, cmd.Stderr = &output, &output
	// Should a child of it keep our pipe open, we do not wait for that.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("make the data directory of %s: %w", s.Engine, notStarted(err))
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	if !stop() && err != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err == nil {
		return nil
	}
	text := lastLines(output.String())
	return fmt.Errorf("make the data directory of %s with %s: %w%s\n%s", s.Engine, line[0], err, adviceOn(text, s.Dir), text)
}

// run starts the server and waits until it is ready. When it does not get there, it is gone when run returns.
func (s *server) run(ctx context.Context) (*Running, error) {
	// The log is made anew: what an earlier server wrote explains nothing of this one. That is kept beside it.
	if err := os.Rename(s.paths.log, s.paths.log+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, directoryError(s.paths.log, err)
	}
	log, err := os.OpenFile(s.paths.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, directoryError(s.paths.log, err)
	}
	defer log.Close()
	cmd := s.command(s.Server.Command(s.launch))
	cmd.Stdout, cmd.Stderr = log, log
	if err := s.Placement.Start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Engine, notStarted(err))
	}
	// While we live we are its parent, and take note of its end; after us, init does.
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()

	if err := s.register(cmd.Process.Pid); err != nil {
		select {
		case status := <-exited: // before it could be looked up
			return nil, s.giveUp(s.exitError(status))
		case <-time.After(goneGrace):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return nil, s.giveUp(fmt.Errorf("start %s: %w%s", s.Engine, err, s.logTail()))
	}
	running := s.running()
	if err := s.waitReady(ctx, running, exited); err != nil {
		return nil, s.giveUp(err)
	}
	return running, nil
}

// unfit is what the kernel says of a program that is not there, is none, or is one of another machine.
var unfit = []error{syscall.ENOENT, syscall.EACCES, syscall.ENOEXEC}

// notStarted tells of a program that could not be started whether it is the program's fault, which stays.
func notStarted(err error) error {
	var run *fs.PathError
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.As(err, &run) && run.Op == "fork/exec" && slices.Contains(unfit, run.Err):
		return fmt.Errorf("%w: %w", ErrNotInstalled, err)
	default:
		return err
	}
}

// register writes down which process is the server.
func (s *server) register(pid int) error {
	p, err := lookUp(pid)
	if err != nil {
		return fmt.Errorf("find the process that was just started: %w", err)
	}
	s.state = State{
		RunID: s.RunID, Engine: s.Engine, PID: pid, Started: p.started, Host: s.Host, Port: s.launch.Port, Endpoint: s.Server.Endpoint(s.launch), User: s.Server.User,
		Binary: s.binary, Command: s.Server.Command(s.launch), Settings: s.launch.Settings, Digest: s.digest(),
		Initialised: true, StopSignal: s.Server.StopSignal,
	}
	if s.account != nil {
		s.state.Account = s.account.name
	}
	return s.state.write(s.Dir)
}

// giveUp stops what was started for nothing.
func (s *server) giveUp(cause error) error {
	// Not with the caller's context, which may be why.
	ctx, cancel := context.WithTimeout(context.Background(), giveUpGrace)
	defer cancel()
	return errors.Join(cause, s.stop(ctx))
}
