package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/infra/ci"
)

func TestLongPathsGetAShortSocket(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.dir = filepath.Join(b.dir, strings.Repeat("long-", 20))
	client := b.launch()
	self := b.identity()
	require.LessOrEqual(t, len(self.Socket), maxSocketPath)
	requireMode(t, filepath.Dir(self.Socket), 0o700)
	requireMode(t, self.Socket, 0o600)

	b.kill()
	again := b.launch()
	require.NotEqual(t, client.Info().PID, again.Info().PID)
	require.NoDirExists(t, filepath.Dir(self.Socket), "what a killed agent left is cleared away")
	self = b.identity()
	require.NoError(t, again.Quit(b.ctx()))
	require.True(t, gone(b.ctx(), self, 5*time.Second))
	require.NoDirExists(t, filepath.Dir(self.Socket))
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.launch()
	requireMode(t, b.dir, 0o700)
	requireMode(t, b.identity().Socket, 0o600)
	requireMode(t, filepath.Join(b.dir, credentialsFile), 0o600)
	requireMode(t, filepath.Join(b.dir, setupFile), 0o600)
}

func requireMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, want, info.Mode().Perm(), path)
}

func TestPasswordIsInTheCredentialsFileAlone(t *testing.T) {
	t.Setenv("DURABENCH_PASSWORD", secret)
	b := newBed(t)
	client := b.launch()
	b.start(client, timed("read", "done"))
	require.Equal(t, "password of "+strconv.Itoa(len(secret))+" bytes", b.wait(client, "read").Leg.Why, "the agent has it")

	for _, file := range []string{"cmdline", "environ"} {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(client.Info().PID), file))
		if errors.Is(err, os.ErrNotExist) {
			ci.Need(t, err)
		}
		require.NoError(t, err)
		require.NotContains(t, string(data), secret, file)
	}
	require.NoError(t, filepath.WalkDir(b.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == credentialsFile {
			return err
		}
		data, err := os.ReadFile(path)
		require.NotContains(t, string(data), secret, path)
		return err
	}))
}
