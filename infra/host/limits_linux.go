package host

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// processLimits returns the limits of this process that a database or a driver may run into: "open files 1024, at most 4096". The runtime
// has raised that of open files as far as it may.
func processLimits() []string {
	var limits []string
	for _, limit := range []struct {
		name     string
		resource int
	}{
		{"open files", unix.RLIMIT_NOFILE}, {"processes", unix.RLIMIT_NPROC}, {"locked memory", unix.RLIMIT_MEMLOCK},
		{"address space", unix.RLIMIT_AS}, {"file size", unix.RLIMIT_FSIZE},
	} {
		var now syscall.Rlimit
		if syscall.Getrlimit(limit.resource, &now) != nil {
			continue
		}
		text := limit.name + " " + limitText(limit.resource, now.Cur)
		if now.Max > now.Cur {
			text += ", at most " + limitText(limit.resource, now.Max)
		}
		limits = append(limits, text)
	}
	return limits
}
