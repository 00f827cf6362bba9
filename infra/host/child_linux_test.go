package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childMode is the environment variable that makes the test binary one of the processes that are measured. It then does what the
// variable says each time it reads a line, and answers with what it really used, by its own account.
const childMode = "DURABENCH_TEST_CHILD"

// report is what a child says it used while it did its work, its own ended children included.
type report struct {
	CPU           time.Duration
	Read, Written int64
}

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := beChild(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func beChild(mode string) error {
	switch mode {
	case "isolate":
		return isolateChild()
	case "hold":
		return holdChild()
	case "lock":
		return lockChild()
	}
	in := bufio.NewReader(os.Stdin)
	fmt.Println(`{}`) // ready
	for {
		argument, err := in.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		before := selfAccount()
		if err := work(mode, argument[:len(argument)-1]); err != nil {
			return err
		}
		after := selfAccount()
		line, err := json.Marshal(report{CPU: after.CPU - before.CPU, Read: after.Read - before.Read, Written: after.Written - before.Written})
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
}

// selfAccount returns what this process and the children it has reaped have used.
func selfAccount() report {
	r := report{}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var usage unix.Rusage
		if unix.Getrusage(who, &usage) == nil {
			r.CPU += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			r.Written += usage.Oublock * 512
			r.Read += usage.Inblock * 512
		}
	}
	return r
}

var held []byte

func work(mode, argument string) error {
	switch mode {
	case "burn": // so many milliseconds of CPU time
		return burn(argument)
	case "spawn", "spawn-and-forget": // as many children at once, each burning 300 ms; forgotten ones are never reaped
		if mode == "spawn-and-forget" {
			signal.Ignore(syscall.SIGCHLD)
		}
		n, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		var children []*exec.Cmd
		for range n {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childMode+"=burn")
			pipe, err := child.StdinPipe()
			if err != nil {
				return err
			}
			if err := child.Start(); err != nil {
				return err
			}
			fmt.Fprintln(pipe, "300")
			pipe.Close()
			children = append(children, child)
		}
		for _, child := range children {
			if err := child.Wait(); err != nil && mode == "spawn" {
				return err
			}
		}
	case "touch": // so many bytes
		n, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		if held, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
			return err
		}
		for i := 0; i < n; i += 4096 {
			held[i] = 1
		}
	case "write": // 8 MiB to a file in the directory
		file, err := os.Create(filepath.Join(argument, "written"))
		if err != nil {
			return err
		}
		defer file.Close()
		block := make([]byte, 1<<20)
		for range 8 {
			if _, err := file.Write(block); err != nil {
				return err
			}
			if err := file.Sync(); err != nil {
				return err
			}
		}
	case "sleep":
	default:
		return fmt.Errorf("no child does %q", mode)
	}
	return nil
}

func burn(milliseconds string) error {
	n, err := strconv.Atoi(milliseconds)
	if err != nil {
		return err
	}
	until := selfAccount().CPU + time.Duration(n)*time.Millisecond
	for selfAccount().CPU < until {
		for range 20_000 {
			_ = held
		}
	}
	return nil
}

// child is a process that is measured.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startChild(t *testing.T, mode string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), childMode+"="+mode, "GOMAXPROCS=1", "GOGC=off")
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	c.answer() // ready
	return c
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// ask lets the child do its work and returns its account of it.
func (c *child) ask(argument any) report {
	c.t.Helper()
	c.tell(argument)
	return c.answer()
}

func (c *child) tell(argument any) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, argument); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) answer() report {
	c.t.Helper()
	var r report
	if err := c.out.Decode(&r); err != nil {
		c.t.Fatal(err)
	}
	return r
}
