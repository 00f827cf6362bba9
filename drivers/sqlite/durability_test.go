package sqlite

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// childDir makes this test's program, run again by itself, the process that is killed: it names the directory of the database.
const childDir = "DURABENCH_SQLITE_CHILD_DIR"

// TestAcknowledgedWritesSurviveKill proves tier process on the real file: a process that writes is killed with SIGKILL, and every row it
// had acknowledged is there. The device's part of tier os cannot be proved so.
func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestAcknowledgedWritesSurviveKill$")
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	output, err := child.StdoutPipe()
	drivertest.Must(t, err)
	drivertest.Must(t, child.Start())
	acknowledged := int64(-1)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Errorf("the child says %q", lines.Text())
			break
		}
		acknowledged = n
		if n == 500 {
			drivertest.Must(t, child.Process.Kill())
		}
	}
	_ = child.Wait()
	if acknowledged < 500 {
		t.Fatalf("the child ended by itself after row %d", acknowledged)
	}

	config := configOf(t, corpus.KeyInteger)
	config.Dir = dir
	opened, err := engine.Open(t.Context(), config)
	drivertest.Must(t, err)
	defer opened.Close()
	client, err := opened.Client(t.Context(), 0)
	drivertest.Must(t, err)
	defer client.Close()
	var buffer corpus.KeyBuffer
	var want, got corpus.Row
	var record drivers.Record
	for index := range uint64(acknowledged) + 1 {
		if err := client.Read(t.Context(), config.Corpus.Key(&buffer, index), &record); err != nil {
			t.Fatalf("acknowledged row %d: %v", index, err)
		}
		drivertest.Must(t, client.Decode(&record, &got))
		config.Corpus.Row(&want, index, 0)
		if column, wantText, gotText, same := corpus.Diff(config.Corpus.Template(), &want, &got); !same {
			t.Fatalf("acknowledged row %d: column %s: got %s, want %s", index, column, gotText, wantText)
		}
	}
}

func writeUntilKilled(t *testing.T, dir string) {
	config := drivers.Config{Dir: dir, Clients: 1, Threads: 1, Tier: drivers.TierProcess, Corpus: makeCorpus(t, corpus.KeyInteger), Logger: slog.New(slog.DiscardHandler)}
	opened, err := engine.Open(t.Context(), config)
	drivertest.Must(t, err)
	drivertest.Must(t, opened.Prepare(t.Context()))
	client, err := opened.Client(t.Context(), 0)
	drivertest.Must(t, err)
	var buffer corpus.KeyBuffer
	var row corpus.Row
	for index := uint64(0); index < 1_000_000; index++ {
		config.Corpus.Row(&row, index, 0)
		drivertest.Must(t, client.Create(t.Context(), config.Corpus.Key(&buffer, index), &row))
		fmt.Println(index)
	}
}
