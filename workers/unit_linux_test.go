package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/infra/ci"
)

// The unit that ships is one that systemd understands and starts this program with flags that it has.
func TestUnitFile(t *testing.T) {
	text, err := os.ReadFile("../infra/systemd/durabench-worker.service")
	require.NoError(t, err)
	var start []string
	settings := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		settings[name] = value
		if name == "ExecStart" {
			start = strings.Fields(value)
		}
	}
	require.NotEmpty(t, start)
	require.NoError(t, command().ParseFlags(start[1:]))
	require.Equal(t, "process", settings["KillMode"], "agent and database outlive the worker")
	require.Equal(t, "continue", settings["OOMPolicy"])
	require.Equal(t, "no", settings["PrivateTmp"], "the lock of the host is in a directory that all see")

	analyze, err := exec.LookPath("systemd-analyze")
	ci.Need(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	unit := filepath.Join(t.TempDir(), "durabench-worker.service")
	require.NoError(t, os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), start[0], self)), 0o600))
	out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "durabench-worker.service:", "it warns of a line of ours")
}
