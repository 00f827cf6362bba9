package home

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// environment sets exactly what the rule reads.
func environment(t *testing.T, durabench, xdgData, user string) {
	t.Helper()
	t.Setenv(Env, durabench)
	t.Setenv("XDG_DATA_HOME", xdgData)
	t.Setenv("HOME", user)
}

func TestDataFollowsTheEnvironment(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	tests := map[string]struct {
		durabench, xdgData string
		want               string
	}{
		"own variable first":          {durabench: "/d", xdgData: "/x", want: "/d"},
		"relative own variable":       {durabench: "d", want: filepath.Join(here, "d")},
		"then XDG":                    {xdgData: "/x", want: "/x/durabench"},
		"a relative XDG is no answer": {xdgData: "x", want: "/home/u/.local/share/durabench"},
		"then the home directory":     {want: "/home/u/.local/share/durabench"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			environment(t, test.durabench, test.xdgData, "/home/u")
			got, err := Data()
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestPartsLieBelowData(t *testing.T) {
	environment(t, "/d", "", "/home/u")
	for want, part := range map[string]func() (string, error){
		"/d/temporal":       Temporal,
		"/d/runs":           Runs,
		"/d/work":           Work,
		"/d/secrets":        Secrets,
		"/d/cache":          Cache,
		"/d/cache/datasets": Datasets,
	} {
		got, err := part()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestCacheIsTheUsersCacheDirectory(t *testing.T) {
	environment(t, "", "", "/home/u")
	user, err := os.UserCacheDir()
	require.NoError(t, err)
	got, err := Cache()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(user, "durabench"), got)
}

func TestNoHomeIsAnErrorThatNamesTheVariable(t *testing.T) {
	environment(t, "", "", "")
	t.Setenv("XDG_CACHE_HOME", "")
	for _, part := range []func() (string, error){Data, Cache, Temporal, Runs, Work, Secrets} {
		_, err := part()
		require.ErrorContains(t, err, Env)
	}
}

func TestNothingIsCreated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	environment(t, dir, "", "/home/u")
	for _, part := range []func() (string, error){Data, Cache, Temporal, Runs, Work, Secrets} {
		_, err := part()
		require.NoError(t, err)
	}
	require.NoDirExists(t, dir)
}
