package temporal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// The ports of a server of ours, when they are free. Tests set others.
var preferredPort, preferredUIPort = 7233, 8233

const (
	// startWait bounds a start, which takes a second or two on a busy machine.
	startWait = 90 * time.Second
	// tailLines is how much of a server's log an error shows.
	tailLines = 20
	// logLimit is the size above which the log of earlier servers is put aside.
	logLimit = 8 << 20
	// niceness of the server: it must not be in the way of the measured database.
	niceness = "5"
)

// program is what can be started as a server.
type program struct {
	origin Origin
	path   string
	// args are the arguments for a server with its files in a directory.
	args func(d directory, namespace string, port, uiPort int) []string
	// version of the Temporal server inside, when known before it runs.
	version string
	// stateless says that the program does not write the state file itself.
	stateless bool
}

// start runs the program and waits until it serves. The caller holds the start lock. Orphans are users of a server that was lost: they look for it
// where it was.
func (d directory) start(ctx context.Context, o FindOptions, p program, orphans bool) (*State, error) {
	port, uiPort := preferredPort, preferredUIPort
	if orphans {
		last, err := readJSON[State](d.last())
		if err != nil {
			return nil, fmt.Errorf("find where the temporal server was: %w", err)
		}
		if last != nil {
			port, uiPort = portOf(last.Address), portOfURL(last.UI)
			awaitFree(ctx, port, uiPort)
		}
	}
	if !free(port) {
		o.Progress(fmt.Sprintf("port %d is in use by another program, so the temporal server gets a free one", port))
		port = 0
	}
	if !free(uiPort) {
		o.Progress(fmt.Sprintf("port %d is in use by another program, so the temporal web ui gets a free one", uiPort))
		uiPort = 0
	}
	state, err := d.startAt(ctx, o.Namespace, p, port, uiPort)
	var failed *startError
	if errors.As(err, &failed) && failed.portTaken() && ctx.Err() == nil {
		// Somebody was quicker, perhaps another durabench with a home of its own.
		o.Progress("a port was taken while the temporal server started, so it gets free ones")
		state, err = d.startAt(ctx, o.Namespace, p, 0, 0)
	}
	return state, err
}

// startError is a server that did not start, with what it said.
type startError struct {
	program program
	log     string
	tail    string
	err     error
}

func (e *startError) Error() string {
	text := fmt.Sprintf("start %s (%s): %v", e.program.origin, e.program.path, e.err)
	if e.tail != "" {
		text += fmt.Sprintf("\nlast lines of %s:\n%s", e.log, e.tail)
	}
	return text
}

func (e *startError) Unwrap() error { return e.err }

func (e *startError) portTaken() bool { return strings.Contains(e.tail, "address already in use") }

func (d directory) startAt(ctx context.Context, namespace string, p program, port, uiPort int) (*State, error) {
	if p.stateless {
		var err error
		if port, uiPort, err = settlePorts(port, uiPort); err != nil {
			return nil, fmt.Errorf("start %s: %w", p.origin, err)
		}
	}
	_ = os.Remove(d.state())
	logFile, from, err := openLog(d.log())
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.origin, err)
	}
	defer func() { _ = logFile.Close() }()

	cmd := command(p.path, p.args(d, namespace, port, uiPort))
	cmd.Dir = string(d)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = logFile, logFile
	// A session of its own: neither the end of the terminal nor its Ctrl-C is for
	// the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	failure := func(err error) error {
		return &startError{program: p, log: d.log(), tail: logTail(d.log(), from), err: err}
	}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, failure(err)
	}
	id := known(cmd.Process.Pid) // as long as it cannot be anybody else's
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	state, err := d.launched(ctx, namespace, p, id, port, uiPort, started, ended)
	if err == nil {
		err = writeJSON(d.last(), state)
	}
	if err != nil {
		// Not ours to leave behind, whatever ended the start.
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, id.end(stop))
		d.forget(id.PID)
		return nil, failure(err)
	}
	return state, nil
}

// launched records the new process and waits until it serves.
func (d directory) launched(ctx context.Context, namespace string, p program, id processID, port, uiPort int, started time.Time, ended <-chan error) (*State, error) {
	err := errEnded
	if id.Birth != "" {
		err = writeJSON(d.launch(), launchRecord{processID: id, Origin: p.origin})
	}
	// A process that ended at once says why in its log; that comes first.
	if err != nil {
		select {
		case exit := <-ended:
			return nil, exitError(exit)
		case <-time.After(100 * time.Millisecond):
			return nil, err
		}
	}
	deadline := time.After(startWait)
	for {
		state, err := d.ready(ctx, namespace, p, id.PID, port, uiPort, started)
		if state != nil || err != nil {
			return state, err
		}
		select {
		case exit := <-ended:
			return nil, exitError(exit)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline:
			return nil, fmt.Errorf("it was not ready after %s", startWait)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ready returns the state of the new server, or nil while it is not ready.
func (d directory) ready(ctx context.Context, namespace string, p program, pid, port, uiPort int, started time.Time) (*State, error) {
	if p.stateless {
		state := &State{
			Address:   address(port),
			UI:        "http://" + address(uiPort),
			PID:       pid,
			Namespace: namespace,
			Started:   started.UTC(),
			Version:   p.version,
		}
		if answers(ctx, state.Address, namespace) != nil {
			return nil, nil
		}
		return state, errors.Join(writeJSON(d.state(), state), extendRetention(ctx, state.Address, namespace))
	}
	state, err := readJSON[State](d.state())
	if err != nil || state == nil || state.PID != pid {
		return nil, err
	}
	return state, nil
}

func exitError(err error) error {
	if err == nil {
		return errors.New("it ended at once")
	}
	return fmt.Errorf("it ended: %w", err)
}

// command runs the program with a lower priority where nice is to be had. Nice
// becomes the program, so the process id is the same. Lowering the priority of
// the running process would reach only one of its threads.
func command(path string, args []string) *exec.Cmd {
	if nice, err := exec.LookPath("nice"); err == nil {
		return exec.Command(nice, append([]string{"-n", niceness, path}, args...)...)
	}
	return exec.Command(path, args...)
}

// environment is ours without what would configure a Temporal client: the
// temporal CLI reads it too.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TEMPORAL_") {
			env = append(env, v)
		}
	}
	return env
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(port)) }

// free tells whether a port can be bound on the loopback address.
func free(port int) bool {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// awaitFree waits a while until the ports of a server that was killed are free: the kernel closes them after its process is gone to all appearances.
func awaitFree(ctx context.Context, ports ...int) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, port := range ports {
		for port != 0 && !free(port) && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// settlePorts replaces zeros by free ports, for a program that cannot tell which
// ones it picked.
func settlePorts(ports ...int) (port, uiPort int, err error) {
	for i := range ports {
		if ports[i] != 0 {
			continue
		}
		l, err := net.Listen("tcp", address(0))
		if err != nil {
			return 0, 0, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = l.Close() }()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports[0], ports[1], nil
}

// openLog opens the log for appending and returns where the new part begins.
func openLog(file string) (*os.File, int64, error) {
	if info, err := os.Stat(file); err == nil && info.Size() > logLimit {
		if err := os.Rename(file, file+".old"); err != nil {
			return nil, 0, fmt.Errorf("put log aside: %w", err)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, fmt.Errorf("open log: %w", err)
	}
	return f, info.Size(), nil
}

// logTail returns the last lines of a log, none of them from before an offset.
func logTail(file string, from int64) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const window = 32 << 10
	if info, err := f.Stat(); err == nil && info.Size()-window > from {
		from = info.Size() - window
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, window))
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}
