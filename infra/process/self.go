package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Self names this process on this machine for ever: by its number, by when it was started, and by the machine, whose name tells containers apart
// that number their processes alike. It is empty when the system does not tell.
var Self = sync.OnceValue(func() string {
	self, err := lookUp(os.Getpid())
	host, hostErr := os.Hostname()
	if err != nil || hostErr != nil {
		return ""
	}
	return fmt.Sprintf("%d@%s@%s", self.pid, self.started, host)
})

// Ended tells whether a process that Self has named surely does not run any more. Of another machine's, and of what is no such name, nothing is known.
func Ended(name string) bool {
	number, rest, _ := strings.Cut(name, "@")
	started, host, named := strings.Cut(rest, "@")
	pid, err := strconv.Atoi(number)
	here, hostErr := os.Hostname()
	if !named || err != nil || hostErr != nil || host != here || !sameBoot(started) {
		return false
	}
	return !proc{pid: pid, started: started}.alive()
}

// sameBoot tells whether a start is one since this machine was switched on: names of before may be another machine's of the same name.
func sameBoot(started string) bool {
	self, err := lookUp(os.Getpid())
	if err != nil {
		return false
	}
	boot, _, on := strings.Cut(self.started, "/")
	return !on || strings.HasPrefix(started, boot+"/")
}
