package process

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/ci"
)

func TestAMissingBinarySaysWhatToInstall(t *testing.T) {
	o := script(t, "")
	o.Binary = ""
	o.Server.Binaries, o.Server.Folders = []string{"no-such-server"}, []string{filepath.Join(t.TempDir(), "*", "bin")}
	refused(t, o, time.Second, ErrNotInstalled, "no-such-server", "on PATH", "install nothing")
	o.Binary = filepath.Join(t.TempDir(), "not-there")
	refused(t, o, time.Second, ErrNotInstalled, "not-there")
	o.Binary = filepath.Join(t.TempDir(), "not-executable")
	if err := os.WriteFile(o.Binary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, o, time.Second, ErrNotInstalled, "not-executable")
}

func TestABinaryOfAnotherProductIsNotTaken(t *testing.T) {
	root := t.TempDir()
	program := func(folder, version string) string {
		path := filepath.Join(root, folder, "some-server")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\ntest $1 = --version && echo "+version), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("PATH", filepath.Join(root, "path")+":"+os.Getenv("PATH"))
	first := program("path", "some-server 11 of Others")
	server := &drivers.Server{
		Binaries: []string{"some-server"}, Folders: []string{filepath.Join(root, "folder")}, Install: "install ours",
		Other: func(version string) string {
			if strings.Contains(version, "Others") {
				return "Others'"
			}
			return ""
		},
	}
	for _, given := range []string{"", first} {
		_, err := findBinary(server, given)
		if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "that is Others'") || !strings.Contains(err.Error(), first) {
			t.Errorf("given %q: %v", given, err)
		}
	}
	right := program("folder", "some-server 8")
	if got, err := Installed(server); err != nil || got != right {
		t.Errorf("found %s, %v; want %s", got, err, right)
	}
}

func TestTheNewestBinaryInTheFoldersWins(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"9.6", "15", "9", "14.10", "14.9"} {
		folder := filepath.Join(root, version, "bin")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "some-server"), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := &drivers.Server{Binaries: []string{"some-server"}, Folders: []string{filepath.Join(root, "*", "bin")}}
	want := []string{"15", "14.10", "14.9", "9.6", "9"}
	for _, version := range want {
		got, err := findBinary(server, "")
		if err != nil || got != filepath.Join(root, version, "bin", "some-server") {
			t.Errorf("found %s, %v; want that of version %s", got, err, version)
		}
		if err := os.RemoveAll(filepath.Join(root, version)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPortThatIsTakenIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	o := script(t, "touch ready; exec sleep 1000")
	o.Port = listener.Addr().(*net.TCPAddr).Port
	refused(t, o, time.Second, ErrPortTaken, "choose another port")
}

func TestADirectoryThatCannotBeMadeIsRefused(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(file, "server")
	refused(t, o, time.Second, ErrDirectory, file, "choose a directory")
	o.Dir = ""
	if _, err := Start(t.Context(), o); !errors.Is(err, ErrDirectory) {
		t.Errorf("without a directory: %v", err)
	}
}

func TestADirectoryClosedToTheServersAccountIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		ci.Need(t, errors.New("only root runs servers as another account"))
	}
	o := script(t, "touch ready; exec sleep 1000")
	o.Server.NotRoot = true
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(closed, "below", "server")
	refused(t, o, time.Second, ErrDirectory, "may not pass through "+closed+":", "chmod o+x")
}

func TestADeadStateIsNotTakenForAServer(t *testing.T) {
	self, err := lookUp(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !(State{PID: self.pid, Started: self.started}).alive() {
		t.Error("this process is taken for dead")
	}
	// The number of a living process, with the start of an earlier one: it must be neither adopted nor stopped.
	dir := t.TempDir()
	if err := (State{PID: self.pid, Started: "earlier"}).write(dir); err != nil {
		t.Fatal(err)
	}
	if running, err := Alive(dir); running != nil || err != nil {
		t.Errorf("alive: %+v, %v", running, err)
	}
	if err := Stop(t.Context(), dir, false); err != nil {
		t.Error(err)
	}
	// And a state that cannot be read is an error, not a dead server.
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Alive(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("alive with a damaged state: %v", err)
	}
}

func TestAServerWithoutAnAccountIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		ci.Need(t, errors.New("only root runs servers as another account"))
	}
	known := accounts
	accounts = []string{"no-such-account"}
	defer func() { accounts = known }()
	o := script(t, "touch ready; exec sleep 1000")
	o.Server.NotRoot = true
	refused(t, o, time.Second, ErrAccount, "no-such-account", "run as another user")
}

func TestAServerWithoutACommandIsRefused(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	o.Server.Command = func(drivers.Launch) []string { return nil }
	refused(t, o, time.Second, ErrOptions, "no command")
}

func TestAProgramThatCannotBeRunIsNotInstalled(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	o.Server.Init = func(drivers.Launch) []string { return []string{"/no/such/initdb"} }
	refused(t, o, time.Second, ErrNotInstalled, "make the data directory", "/no/such/initdb")
	o = script(t, "touch ready; exec sleep 1000")
	o.Server.Command = func(drivers.Launch) []string { return []string{"no-such-program"} }
	refused(t, o, time.Second, ErrNotInstalled, "no-such-program")
	o = script(t, "")
	if err := os.WriteFile(o.Binary, []byte("\x7fELF of another machine"), 0o700); err != nil {
		t.Fatal(err)
	}
	refused(t, o, time.Second, ErrNotInstalled, o.Binary)
}

// Only what ended by itself will go on doing so.
func TestAServerThatExitsHasDoneItByItselfOrNot(t *testing.T) {
	refused(t, script(t, "exit 3"), 10*time.Second, ErrExited, "exit status 3")
	refused(t, script(t, "kill -SEGV $$"), 10*time.Second, ErrExited)
	o := script(t, "kill -KILL $$")
	if _, err := Start(t.Context(), o); !errors.Is(err, ErrNotReady) || errors.Is(err, ErrExited) {
		t.Errorf("killed: %v", err)
	}
}
