package host

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// syncData flushes a file's content to the device, and of the rest only what is needed to read it again.
func syncData(file *os.File) error {
	for {
		if err := unix.Fdatasync(int(file.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// stolen returns the share of the CPU time that was wanted in a window and that the hypervisor gave to others; -1 when none was wanted.
func stolen(ctx context.Context, window time.Duration) (float64, error) {
	s := system{root: "/"}
	before, _, err := s.cpuTimes()
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-time.After(window):
	}
	after, _, err := s.cpuTimes()
	if err != nil {
		return 0, err
	}
	return before.stolenUntil(after), nil
}

func (t cpuTimes) stolenUntil(after cpuTimes) float64 {
	lost := max(0, after.stolen-t.stolen)
	wanted := max(0, after.busy-t.busy) + lost
	if wanted == 0 {
		return -1
	}
	return lost.Seconds() / wanted.Seconds()
}
