package process

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/durabench/durabench/bench/wholefile"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/host"
)

// loopback is where servers listen unless the caller says otherwise.
const loopback = "127.0.0.1"

// server is a server's directory in the hands of Start or Stop.
type server struct {
	Options
	paths
	log      *slog.Logger
	binary   string
	account  *account // nil: the server runs as we do
	password string
	state    State
	launch   drivers.Launch
	held     *os.File // the lock
}

// open finds the binary, makes the directory and locks it.
func open(o Options) (*server, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil || o.Dir == "" {
		return nil, errors.Join(fmt.Errorf("start %s: %q is no directory: %w", o.Engine, o.Dir, ErrDirectory), err)
	}
	o.Dir = dir
	if o.Host == "" {
		o.Host = loopback
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = readyTimeout
	}
	s := &server{Options: o, paths: pathsOf(dir), log: o.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.binary, err = findBinary(o.Server, o.Binary); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Engine, err)
	}
	if o.Server.NotRoot {
		if s.account, err = unprivileged(); err != nil {
			return nil, fmt.Errorf("start %s: %w", o.Engine, err)
		}
	}
	if err := s.makeDirectories(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Engine, err)
	}
	if err := s.acquire(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Engine, err)
	}
	if err := s.recall(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", o.Engine, err), s.unlock())
	}
	return s, nil
}

// makeDirectories makes the directory ours alone, and what is below server/ the account's alone.
func (s *server) makeDirectories() error {
	mode := os.FileMode(0o700)
	if s.account != nil {
		mode = 0o711 // the account has to pass through
	}
	if err := os.MkdirAll(s.Dir, mode); err != nil {
		return directoryError(s.Dir, err)
	}
	if err := os.Chmod(s.Dir, mode); err != nil {
		return directoryError(s.Dir, err)
	}
	if err := os.Mkdir(s.server, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return directoryError(s.server, err)
	}
	if s.account == nil {
		return nil
	}
	if err := s.account.passes(s.Dir, s.Engine); err != nil {
		return err
	}
	return s.own(s.server)
}

// own gives a file to the account that the server runs as.
func (s *server) own(path string) error {
	if s.account == nil {
		return nil
	}
	if err := os.Lchown(path, int(s.account.uid), int(s.account.gid)); err != nil {
		return directoryError(path, err)
	}
	return nil
}

// directoryError says what to do about a directory that cannot be used.
func directoryError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: %w; the disk is full: free some space, or choose another directory", ErrDirectory, err)
	}
	return fmt.Errorf("%w: %w; choose a directory that can be written to in place of %s", ErrDirectory, err, path)
}

// acquire waits for the lock, which goes with the process that holds it.
func (s *server) acquire() error {
	f, err := os.OpenFile(s.lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return directoryError(s.Dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return errors.Join(directoryError(s.Dir, fmt.Errorf("lock %s: %w", s.lock, err)), f.Close())
	}
	s.held = f
	return nil
}

func (s *server) unlock() error {
	if s.held == nil {
		return nil
	}
	err := s.held.Close()
	s.held = nil
	return err
}

// recall reads what is known of the server, and makes its password when there is none yet.
func (s *server) recall() (err error) {
	if s.state, err = readState(s.Dir); err != nil {
		return err
	}
	text, err := os.ReadFile(s.paths.password)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text()) // 26 letters and digits
		if err := wholefile.Write(s.paths.password, text, 0o600); err != nil {
			return directoryError(s.Dir, err)
		}
	} else if err != nil {
		return fmt.Errorf("read the password: %w", err)
	}
	s.password = string(text)
	return nil
}

// plan is the launch on the port, and fills in the state that goes with it.
func (s *server) plan(port int) (drivers.Launch, error) {
	l := drivers.Launch{
		Binary: s.binary, Dir: s.server, Data: s.data, Host: s.Host, Port: port, Password: s.password,
		Profile: s.Profile, Tier: s.Tier, Connections: s.Connections,
	}
	if s.Server.Settings != nil {
		l.Settings = s.Server.Settings(s.Profile, s.Tier, s.Resources)
	}
	if command := s.Server.Command(l); len(command) == 0 {
		return l, fmt.Errorf("start %s: %w: the engine gives no command", s.Engine, ErrOptions)
	}
	return l, nil
}

// digest names all that decides how the server runs.
func (s *server) digest() string {
	h := sha256.New()
	files := s.files()
	_ = json.NewEncoder(h).Encode(struct {
		Binary  string
		Command []string
		Files   map[string]string
		Placed  host.Placement
	}{s.binary, s.Server.Command(s.launch), files, s.Placement})
	return hex.EncodeToString(h.Sum(nil))
}

func (s *server) files() map[string]string {
	if s.Server.Files == nil {
		return nil
	}
	return s.Server.Files(s.launch)
}

// writeFiles writes the engine's files for the server to read.
func (s *server) writeFiles() error {
	files := s.files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("start %s: %w: file %q is not below the launch directory", s.Engine, ErrOptions, name)
		}
		path := filepath.Join(s.server, name)
		if err := wholefile.Write(path, []byte(files[name]), 0o600); err != nil {
			return directoryError(path, err)
		}
		if err := s.own(path); err != nil {
			return err
		}
	}
	return nil
}

// running describes the server as the state has it.
func (s *server) running() *Running {
	return &Running{
		State: s.state, Dir: s.Dir, Data: s.data, Log: s.paths.log,
		Credentials: drivers.Credentials{User: s.state.User, Password: s.password},
	}
}
