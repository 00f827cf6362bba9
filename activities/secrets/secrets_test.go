package secrets

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/home"
)

func TestCredentialsLastFromWriteToDelete(t *testing.T) {
	t.Setenv(home.Env, t.TempDir())
	t.Setenv(EnvUser, "worker")
	t.Setenv(EnvPassword, "of the environment")

	found, err := Read("run-1")
	require.NoError(t, err)
	require.Equal(t, "worker", found.User, "a run without its own has the environment's")

	given := drivers.Credentials{User: "bench", Password: `a "quoted" pass`}
	require.NoError(t, Write("run-1", given))
	require.NoError(t, Write("run-1", given), "writing again is fine")
	dir, err := home.Secrets()
	require.NoError(t, err)
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "run-1.json"): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), path)
	}
	found, err = Read("run-1")
	require.NoError(t, err)
	require.Equal(t, given.Password, found.Password)
	require.Equal(t, given.User, found.User)

	require.NoError(t, Delete("run-1"))
	require.NoError(t, Delete("run-1"), "there is nothing left to delete")
	found, err = Read("run-1")
	require.NoError(t, err)
	require.Equal(t, "worker", found.User)
}

func TestDamagedFileIsNotQuoted(t *testing.T) {
	t.Setenv(home.Env, t.TempDir())
	require.NoError(t, Write("run-1", drivers.Credentials{}))
	dir, err := home.Secrets()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run-1.json"), []byte(`{"password": hunter2`), 0o600))
	_, err = Read("run-1")
	require.ErrorContains(t, err, "damaged")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestRunIDsStayInTheDirectory(t *testing.T) {
	t.Setenv(home.Env, t.TempDir())
	for _, id := range []string{"", "../run", "a/b", ".hidden", "a b"} {
		require.Error(t, Write(id, drivers.Credentials{}), id)
		require.Error(t, Delete(id), id)
		_, err := Read(id)
		require.Error(t, err, id)
	}
}
