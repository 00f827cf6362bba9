package wholefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever reads while others write finds one of the contents, whole, and nothing else is left.
func TestReadersFindTheFileWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	contents := [][]byte{make([]byte, 100_000), []byte("{}")}
	require.NoError(t, Write(path, contents[1], 0o600))
	var writers sync.WaitGroup
	for _, content := range contents {
		writers.Go(func() {
			for range 50 {
				if err := Write(path, content, 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		found, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, []int{len(contents[0]), len(contents[1])}, len(found))
	}
	writers.Wait()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestTheModeIsTheOneAskedForAndAFailureLeavesTheOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, mode := range []fs.FileMode{0o600, 0o644} {
		require.NoError(t, Write(path, []byte("x"), mode))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
	}
	require.Error(t, Write(filepath.Join(path, "b"), []byte("x"), 0o600), "its directory is a file")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "x", string(content))
	require.Error(t, SyncDir(path+"-absent"))
}
