package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/infra/ci"
)

// holdChild is an agent: it takes over the lock, starts a server of its own, and waits until it is told to end or killed.
func holdChild() error {
	lock, err := Inherit()
	if err != nil {
		return err
	}
	if lock == nil {
		return errors.New("no lock was passed")
	}
	if again, err := Inherit(); again != nil || err != nil {
		return fmt.Errorf("taken over twice: %v", err)
	}
	server := exec.Command("sleep", "60")
	if err := server.Start(); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"server": server.Process.Pid, "holder": lock.Holder()}); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return lock.Close()
}

// The worker takes the lock and hands it to the agent; then the worker may go. The agent's children do not hold it.
func TestLockLivesAsLongAsTheAgent(t *testing.T) {
	for _, end := range []string{"told", "killed"} {
		t.Run(end, func(t *testing.T) {
			dir := t.TempDir()
			worker, err := Lock(dir, Holder{RunID: "run-1", Journal: "j"})
			if err != nil {
				t.Fatal(err)
			}
			agent := exec.Command(os.Args[0])
			agent.Env = append(os.Environ(), childMode+"=hold")
			agent.Stderr = os.Stderr
			worker.Pass(agent)
			in, err := agent.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := agent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := agent.Start(); err != nil {
				t.Fatal(err)
			}
			var said struct {
				Server int
				Holder Holder
			}
			if err := json.NewDecoder(bufio.NewReader(out)).Decode(&said); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if server, err := os.FindProcess(said.Server); err == nil {
					_ = server.Kill()
				}
			}()
			if said.Holder.PID != agent.Process.Pid || said.Holder.RunID != "run-1" || said.Holder.Journal != "j" {
				t.Errorf("the agent holds as %+v", said.Holder)
			}

			if err := worker.Close(); err != nil { // the worker is gone
				t.Fatal(err)
			}
			_, err = Lock(dir, Holder{RunID: "run-2"})
			var held *HeldError
			if !errors.As(err, &held) || !held.By("run-1") || held.Holder.PID != agent.Process.Pid {
				t.Fatalf("with the agent alone: %v", err)
			}

			if end == "told" {
				in.Close()
			} else if err := agent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = agent.Wait()
			next, err := Lock(dir, Holder{RunID: "run-2"}) // its server lives on
			if err != nil {
				t.Fatal(err)
			}
			defer next.Close()
			if previous := next.Previous(); (previous != nil) != (end == "killed") || previous != nil && previous.RunID != "run-1" {
				t.Errorf("previous holder: %v", previous)
			}
		})
	}
}

func TestInheritingNothing(t *testing.T) {
	if lock, err := Inherit(); lock != nil || err != nil {
		t.Errorf("%v, %v", lock, err)
	}
	for _, text := range []string{"x", "1", "9999"} {
		t.Setenv(lockVariable, text)
		if lock, err := Inherit(); lock != nil || err == nil {
			t.Errorf("%q: %v", text, lock)
		}
	}
}

// A killed run with another home: who takes the lock next finds its journal by the lock file.
func TestReclaimPutsBackWhatTheLastHolderLeft(t *testing.T) {
	lockDir, mine, theirs := t.TempDir(), t.TempDir(), t.TempDir()
	machine := newFakeHost(t.TempDir())
	found := machine.state()
	if _, err := everything(Standard).apply(t.Context(), machine.rig(), theirs, "run-1", nil); err != nil {
		t.Fatal(err)
	}
	lock, err := Lock(lockDir, Holder{RunID: "run-1", Journal: theirs})
	if err != nil {
		t.Fatal(err)
	}
	holder, err := Reclaim(t.Context(), lockDir, mine)
	if err != nil || holder == nil || holder.RunID != "run-1" {
		t.Fatalf("while it runs: %v, %v", holder, err)
	}
	lock.passed = true // so that its name stays, as after kill -9
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := Lock(lockDir, Holder{RunID: "run-2", Journal: mine})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if next.Previous() == nil || next.Previous().Journal != theirs {
		t.Fatalf("previous holder: %v", next.Previous())
	}
	if err := restore(t.Context(), machine.rig(), next.Previous().Journal); err != nil { // as PutBack does with the real machine
		t.Fatal(err)
	}
	if diff := cmp.Diff(found, machine.state()); diff != "" {
		t.Error(diff)
	}
}

// Reclaim without anything to put back touches nothing, which can be tried for real.
func TestReclaimWithoutJournal(t *testing.T) {
	lockDir := t.TempDir()
	if holder, err := Reclaim(t.Context(), lockDir, filepath.Join(lockDir, "none")); holder != nil || err != nil {
		t.Fatalf("%v, %v", holder, err)
	}
	begun := time.Now()
	if holder, err := Held(lockDir); holder != nil || err != nil {
		t.Errorf("%v, %v after %v", holder, err, time.Since(begun))
	}
}

// lockChild takes the lock of a directory as another user, says so, and ends without letting go.
func lockChild() error {
	_, err := Lock(os.Getenv("LOCK_DIR"), Holder{RunID: "theirs"})
	if held := new(HeldError); errors.As(err, &held) {
		fmt.Println("held by", held.Holder.RunID)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// Root and another user lock the same file in a directory like /tmp, whoever made it: fs.protected_regular is in the way there.
func TestUsersShareTheLock(t *testing.T) {
	if os.Geteuid() != 0 {
		ci.Need(t, errors.New("takes root to be two users"))
	}
	base, err := os.MkdirTemp("", "durabench-lock-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(base, "program")
	if err := errors.Join(os.Chmod(base, 0o755), os.WriteFile(program, binary, 0o755)); err != nil {
		t.Fatal(err)
	}
	start := func(dir string) (said string, end func()) {
		cmd := exec.Command(program)
		cmd.Dir = "/"
		cmd.Env = []string{childMode + "=lock", "LOCK_DIR=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			ci.Need(t, fmt.Errorf("start a program as another user: %w", err))
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		return line, func() {
			in.Close()
			_ = cmd.Wait()
		}
	}
	for _, first := range []string{"root", "another user"} {
		dir := filepath.Join(base, first)
		if err := errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777|os.ModeSticky)); err != nil {
			t.Fatal(err)
		}
		if first == "root" {
			mine, err := Lock(dir, Holder{RunID: "mine"})
			if err != nil {
				t.Fatal(err)
			}
			said, end := start(dir)
			if end(); said != "held by mine\n" {
				t.Errorf("made by root, held by root: %q", said)
			}
			if err := mine.Close(); err != nil {
				t.Fatal(err)
			}
		}
		said, end := start(dir)
		if said != "locked\n" {
			t.Errorf("made by %s: %q", first, said)
		}
		if _, err := Lock(dir, Holder{RunID: "mine"}); !errors.As(err, new(*HeldError)) {
			t.Errorf("made by %s, held by another user: %v", first, err)
		}
		end()
		mine, err := Lock(dir, Holder{RunID: "mine"})
		if err != nil {
			t.Fatalf("made by %s: %v", first, err)
		}
		if mine.Previous() == nil || mine.Previous().RunID != "theirs" {
			t.Errorf("made by %s: previous holder %v", first, mine.Previous())
		}
		if err := mine.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
