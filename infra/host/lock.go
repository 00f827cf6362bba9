package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// lockFile is the name of the lock file in its directory.
const lockFile = "durabench.lock"

// lockVariable tells a child which of its file descriptors is the host's lock.
const lockVariable = "DURABENCH_HOST_LOCK"

// EnvLockDir is the environment variable that names another directory for the lock file. Runs that use different ones do not see each other.
const EnvLockDir = "DURABENCH_LOCK_DIR"

// LockDir returns the directory of the lock file of this machine: one for all users and homes, since they all share the machine. It is
// /run/lock where everyone may write there, and /tmp elsewhere; what decides is the directory and not who asks, or a user and root would
// lock different files. A worker in a container, or in a unit with a private /tmp, sees another directory and needs it mounted, and named by
// DURABENCH_LOCK_DIR where it is mounted elsewhere.
func LockDir() string {
	if dir := os.Getenv(EnvLockDir); dir != "" {
		return dir
	}
	const shared = os.ModeSticky | 0o007
	if info, err := os.Stat("/run/lock"); err == nil && info.IsDir() && info.Mode()&shared == shared {
		return "/run/lock"
	}
	return "/tmp"
}

// Holder is who holds a host. Everyone on the machine can write it, so it is there to be shown and never to be acted on unchecked.
type Holder struct {
	RunID    string    `json:"runId"`
	PID      int       `json:"pid"`
	User     string    `json:"user,omitempty"`
	Since    time.Time `json:"since"`
	Temporal string    `json:"temporal,omitempty"` // address and namespace of the server that the run's workflow is on
	Journal  string    `json:"journal,omitempty"`  // directory of the isolation journal
}

// String tells who holds the host: "run 7f3a (process 4711 of bench, since 2027-03-01 12:00:00 UTC, Temporal 127.0.0.1:7233)".
func (h Holder) String() string {
	text := fmt.Sprintf("run %s (process %d", h.RunID, h.PID)
	if h.User != "" {
		text += " of " + h.User
	}
	text += ", since " + h.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	if h.Temporal != "" {
		text += ", Temporal " + h.Temporal
	}
	return text + ")"
}

// HeldError says that another process holds the host.
type HeldError struct {
	Path   string
	Holder Holder // zero when the holder did not say
}

// Error names the holder and what to do.
func (e *HeldError) Error() string {
	return fmt.Sprintf("this host is held by %s: wait until it is over or end it; the lock file is %s", e.Holder, e.Path)
}

// By tells whether the host is held for this run: by its agent, when a worker that took over asks.
func (e *HeldError) By(runID string) bool { return e.Holder.RunID == runID }

// HostLock is the exclusive hold of a machine by a run: the second belt beside the lease workflow, which knows of no run outside its own
// Temporal server. It is a lock of the kernel on an open file, so it ends when the last process that has this file open ends, however
// it ends.
//
// The holder must live as long as the run, which a worker does not. It is the agent: the worker takes the lock before it changes
// anything on the machine, starts the agent with it (Pass), and closes its own hold once the agent answers; the agent takes it over
// (Inherit) and keeps it until it ends. When an agent is lost, the worker takes the lock anew before it starts the next one. A worker that
// finds the host held for its own run (HeldError.By) finds its living agent, and needs no lock of its own.
type HostLock struct {
	file     *os.File
	holder   Holder
	previous *Holder
	passed   bool
}

// Lock takes the machine for a run, or returns a *HeldError at once. The lock file is in dir, LockDir for real runs. Of holder, process,
// user and time are filled in.
func Lock(dir string, holder Holder) (*HostLock, error) {
	path := filepath.Join(dir, lockFile)
	// Held and a removed file look like a lock for a moment; a real holder is there for longer.
	var err error
	for try := range 10 {
		if try > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		var file *os.File
		if file, err = openLock(path); err != nil {
			if errors.Is(err, fs.ErrPermission) {
				continue // its maker may be about to open it to all
			}
			break
		}
		if err = flock(file, syscall.LOCK_EX); err == nil {
			if !sameFile(file, path) { // someone has cleaned up the directory
				_ = file.Close()
				err = errors.New("the file was replaced again and again")
				continue
			}
			return newLock(file, holder)
		}
		_ = file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		held := &HeldError{Path: path}
		if last := readHolder(path); last != nil {
			held.Holder = *last
		}
		return nil, held
	}
	return nil, fmt.Errorf("lock this host with %s: %w", path, err)
}

// openLock opens the lock file, making it when it is not there. It is opened without O_CREAT first: in a directory like /tmp the kernel
// refuses to open another user's file with it (fs.protected_regular). Links are not followed.
func openLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%w: made by another process just now", fs.ErrPermission)
		}
		if err == nil {
			err = file.Chmod(0o666) // whatever the umask
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is no plain file: %v", info.Mode())
	}
	if err == nil {
		// Its content is replaced, so it must not be someone's other file too.
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
			err = errors.New("it has a second name")
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// flock takes a lock without waiting.
func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func sameFile(file *os.File, path string) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, there)
}

func newLock(file *os.File, holder Holder) (*HostLock, error) {
	l := &HostLock{file: file, holder: holder, previous: readFrom(file)}
	l.holder.Since = time.Now().UTC().Truncate(time.Second)
	if err := l.sign(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return l, nil
}

// sign writes into the file who holds it.
func (l *HostLock) sign() error {
	l.holder.PID, l.holder.User = os.Getpid(), ""
	if who, err := user.Current(); err == nil {
		l.holder.User = who.Username
	}
	text, err := json.Marshal(l.holder)
	if err != nil {
		return fmt.Errorf("describe who holds this host: %w", err)
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("write who holds this host: %w", err)
	}
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil {
		return fmt.Errorf("write who holds this host: %w", err)
	}
	return nil
}

// Holder returns who holds the host through this lock.
func (l *HostLock) Holder() Holder { return l.holder }

// Previous returns the holder before, when it ended without letting go: it was killed, and may have left changes behind. After a holder
// that let go it is nil.
func (l *HostLock) Previous() *Holder { return l.previous }

// Pass makes a command, before it is started, hold the lock too. The child takes it over with Inherit.
func (l *HostLock) Pass(cmd *exec.Cmd) {
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.file)
	const first = 3 // behind standard input, output and error
	cmd.Env = append(cmd.Environ(), lockVariable+"="+strconv.Itoa(first+len(cmd.ExtraFiles)-1))
	l.passed = true
}

// Inherit takes over the lock that this process was started with, and signs it; without one it returns nil. It must be called before
// the process starts any other, which would hold the lock too.
func Inherit() (*HostLock, error) {
	text, ok := os.LookupEnv(lockVariable)
	if !ok {
		return nil, nil
	}
	if err := os.Unsetenv(lockVariable); err != nil {
		return nil, err
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%s=%q names no file that could be inherited", lockVariable, text)
	}
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), lockFile)
	// Taking it again does nothing when it is ours, and takes it when no one has it.
	if err := flock(file, syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("take over the lock of this host: %w", err)
	}
	l := &HostLock{file: file}
	if holder := readFrom(file); holder != nil {
		l.holder = *holder
	}
	if err := l.sign(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return l, nil
}

// Close lets go. After Pass only this process does, and whoever it was passed to holds on.
func (l *HostLock) Close() error {
	if l.file == nil {
		return nil
	}
	var err error
	if !l.passed {
		err = l.file.Truncate(0) // who lets go properly leaves no name
	}
	err = errors.Join(err, l.file.Close())
	l.file = nil
	return err
}

// Held returns who holds the machine, or nil when no one does.
func Held(dir string) (*Holder, error) {
	path := filepath.Join(dir, lockFile)
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look who holds this host: %w", err)
	}
	defer file.Close()
	err = flock(file, syscall.LOCK_SH)
	if err == nil {
		return nil, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("look who holds this host: %w", err)
	}
	if holder := readFrom(file); holder != nil {
		return holder, nil
	}
	return &Holder{}, nil
}

func readHolder(path string) *Holder {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	return readFrom(file)
}

// readFrom returns the holder that the file names, if it does.
func readFrom(file *os.File) *Holder {
	const most = 4096
	text, err := io.ReadAll(io.NewSectionReader(file, 0, most))
	if err != nil {
		return nil
	}
	var holder Holder
	if json.Unmarshal(text, &holder) != nil || holder.RunID == "" {
		return nil
	}
	return &holder
}
