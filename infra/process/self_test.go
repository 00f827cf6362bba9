package process

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain's binary says its own name when it is asked to.
const envSay = "DURABENCH_TEST_SAY_SELF"

func init() {
	if os.Getenv(envSay) != "" {
		os.Stdout.WriteString(Self())
		os.Exit(0)
	}
}

func TestEnded(t *testing.T) {
	self := Self()
	require.NotEmpty(t, self)
	require.False(t, Ended(self))

	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), envSay+"=1")
	out, err := command.Output()
	require.NoError(t, err)
	other := string(out)
	require.NotEqual(t, self, other)
	require.True(t, Ended(other), other)

	// The same number, another process.
	number, rest, _ := strings.Cut(self, "@")
	_, otherRest, _ := strings.Cut(other, "@")
	require.True(t, Ended(number+"@"+otherRest))

	// Of these nothing is known.
	for _, name := range []string{"", "x", number, "1@bench@queue", number + "@" + rest + "-elsewhere", "x@" + rest} {
		require.False(t, Ended(name), name)
	}
}
