package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/durabench/durabench/infra/pidspace"
)

// Self names this process on this machine for ever: by its number, by when it was started and in which namespace of such numbers, and by the
// machine. It is empty when the system does not tell.
var Self = sync.OnceValue(func() string {
	self, err := lookUp(os.Getpid())
	host, hostErr := os.Hostname()
	if err != nil || hostErr != nil {
		return ""
	}
	return fmt.Sprintf("%d@%s@%s", self.pid, self.started, host)
})

// Ended tells whether a process that Self has named surely does not run any more. Of one on another machine or in another container, and of what is
// no such name, nothing is known.
func Ended(name string) bool {
	number, rest, _ := strings.Cut(name, "@")
	started, host, named := strings.Cut(rest, "@")
	pid, err := strconv.Atoi(number)
	here, hostErr := os.Hostname()
	if !named || err != nil || hostErr != nil || host != here || !inReach(started) {
		return false
	}
	return !proc{pid: pid, started: started}.alive()
}

// inReach tells whether a start is one of a process that this one would see: since this machine was switched on, as names of before may be another
// machine's of the same name, and not in another container, which may share the machine's name.
func inReach(started string) bool {
	return strings.HasPrefix(started, pidspace.Here()+"/") || pidspace.Here() == "" && !strings.Contains(started, "/")
}
