package process

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"
)

// helperEnv makes this test binary start a server and exit, as a worker does that is killed.
const helperEnv = "PROCESS_TEST_HELPER"

type helperOptions struct {
	Dir, Binary string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(helperEnv); text != "" {
		os.Exit(helper(text))
	}
	os.Exit(m.Run())
}

func helper(text string) int {
	var given helperOptions
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return 2
	}
	if _, err := Start(context.Background(), scriptOptions(given.Dir, given.Binary)); err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

func TestAServerOutlivesWhoStartedIt(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	text, err := json.Marshal(helperOptions{o.Dir, o.Binary})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"="+string(text))
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if running := begin(t, o); !running.Adopted {
		t.Errorf("the server was not adopted: %+v", running)
	}
}

// A start that is killed before it could write down the process leaves a server that only its directory tells of.
func TestAnOrphanIsStoppedByTheNextStart(t *testing.T) {
	o := script(t, "touch ready; sleep 1001 & wait")
	orphan := begin(t, o)
	state := orphan.State
	state.PID, state.Started = 0, ""
	if err := state.write(o.Dir); err != nil {
		t.Fatal(err)
	}
	next := begin(t, o)
	if next.PID == orphan.PID || (proc{pid: orphan.PID, started: orphan.Started}).alive() {
		t.Errorf("the orphan %d still runs beside %d", orphan.PID, next.PID)
	}
	// The same for Stop.
	state = next.State
	state.PID, state.Started = 0, ""
	if err := state.write(o.Dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := Stop(ctx, o.Dir, false); err != nil {
		t.Fatal(err)
	}
	if (proc{pid: next.PID, started: next.Started}).alive() {
		t.Error("the orphan still runs after Stop")
	}
}
