package host

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/bench/result"
)

// describe reads the little that sysctl tells without cgo.
func describe(_ context.Context, h *result.Host, _ string) {
	if kernel, err := unix.Sysctl("kern.osrelease"); err == nil {
		h.Kernel = kernel
	}
	if model, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil {
		h.CPUModel = model
	}
	if bytes, err := unix.SysctlUint64("hw.memsize"); err == nil {
		h.MemoryBytes = int64(bytes)
	}
	if guest, err := unix.SysctlUint32("kern.hv_vmm_present"); err == nil && guest != 0 {
		h.Virtual = "hypervisor"
	}
}
