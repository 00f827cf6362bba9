package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// control is what changes a machine. Everything that only reads goes through system.
type control interface {
	// write writes to a file of /proc or /sys.
	write(path, text string) error
	// swapon and swapoff turn a device or file on and off as swap space.
	swapon(path string, flags int) error
	swapoff(path string) error
	// flush writes to the devices what is only in memory.
	flush()
	// systemctl returns what the service manager prints.
	systemctl(ctx context.Context, args ...string) (string, error)
}

// linux is the kernel that runs this program.
type linux struct{}

func (linux) write(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0) // never makes a file
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (linux) swapon(path string, flags int) error { return swapCall(unix.SYS_SWAPON, path, flags) }
func (linux) swapoff(path string) error           { return swapCall(unix.SYS_SWAPOFF, path, 0) }
func (linux) flush()                              { unix.Sync() }

func swapCall(call uintptr, path string, flags int) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, code := unix.Syscall(call, uintptr(unsafe.Pointer(name)), uintptr(flags), 0); code != 0 {
		return code
	}
	return nil
}

// serviceTimeout bounds how long a service takes to start or stop; systemd's own limit is a minute and a half.
const serviceTimeout = 2 * time.Minute

func (linux) systemctl(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "systemctl", append([]string{"--no-ask-password"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_PAGER=")
	cmd.WaitDelay = time.Second
	var printed, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &complaint
	err := cmd.Run()
	if text := strings.TrimSpace(complaint.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return strings.TrimSpace(printed.String()), err
}

// refusal says in plain words why a kernel did not do what it was asked.
func refusal(err error) error {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("it takes root: %w", err)
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("it is read-only here, as in most containers: %w", err)
	}
	return err
}
