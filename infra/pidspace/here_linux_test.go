package pidspace

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/infra/ci"
)

const envSay = "DURABENCH_TEST_SAY_SPACE"

func init() {
	if os.Getenv(envSay) != "" {
		os.Stdout.WriteString(Here())
		os.Exit(0)
	}
}

// say has another process say where it is.
func say(t *testing.T, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), envSay+"=1")
	out, err := cmd.Output()
	ci.Need(t, err)
	return string(out)
}

func TestSpaceIsThatOfTheNamespace(t *testing.T) {
	require.Equal(t, Here(), say(t, os.Args[0]))
	other := say(t, "unshare", "--pid", "--fork", "--mount-proc", os.Args[0])
	require.NotEqual(t, Here(), other)
	boot, _, _ := strings.Cut(Here(), "/")
	require.True(t, strings.HasPrefix(other, boot+"/"), "it is the same machine: %s", other)
}

func TestProcessOfANamespaceBelowIsNotOurs(t *testing.T) {
	require.True(t, Shares(os.Getpid()))
	cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	ci.Need(t, cmd.Start())
	defer func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	}()
	_, err = in.Write([]byte("x"))
	require.NoError(t, err)
	_, err = out.Read(make([]byte, 1)) // the cat runs
	ci.Need(t, err)
	children, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/task/" + strconv.Itoa(cmd.Process.Pid) + "/children")
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(children)))
	require.NoError(t, err)
	require.False(t, Shares(child))
}

func TestStartsOfEarlierBuildsAreKnown(t *testing.T) {
	require.True(t, SameStart("boot/4026531836/77", "boot/4026531836/77"))
	require.True(t, SameStart("boot/77", "boot/4026531836/77"))
	for _, other := range []string{"", "boot/4026532000/77", "boot/78", "boot/4026531836/78", "reboot/77", "reboot/4026531836/77", "77", "boot/4026531836"} {
		require.False(t, SameStart(other, "boot/4026531836/77"), other)
	}
}
