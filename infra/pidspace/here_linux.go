package pidspace

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// Here names the pid namespace of this process, with the boot of the machine: "boot/number". It is empty when the system does not tell.
var Here = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	own, nsErr := namespace("self")
	if err != nil || nsErr != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + own
})

// Shares tells whether a process, by its number here, is in our namespace and not in one below it. One that does not tell is taken to be.
func Shares(pid int) bool {
	own, err := namespace("self")
	theirs, theirErr := namespace(fmt.Sprint(pid))
	return err != nil || theirErr != nil || own == theirs
}

// namespace is the number of a process's pid namespace.
func namespace(process string) (string, error) {
	link, err := os.Readlink("/proc/" + process + "/ns/pid") // "pid:[4026531836]"
	if err != nil {
		return "", err
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]"), nil
}

// Start names the start of a process: where its number means something, and the clock tick.
func Start(tick string) string { return Here() + "/" + tick }

// SameStart tells whether a start that was written down is that of a process that runs now. Earlier builds wrote the boot and the tick alone.
func SameStart(written, now string) bool {
	if written == now {
		return true
	}
	boot, rest, _ := strings.Cut(now, "/")
	_, tick, found := strings.Cut(rest, "/")
	return found && written == boot+"/"+tick
}
