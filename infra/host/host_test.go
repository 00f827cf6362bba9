package host

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/result"
)

func TestFingerprintOfThisMachine(t *testing.T) {
	h := Fingerprint(t.Context(), t.TempDir())
	if h.OS != runtime.GOOS || h.Arch != runtime.GOARCH || h.CPUs < 1 || h.CPUs > 4096 {
		t.Errorf("%+v", h)
	}
	if h.Digest != h.Fingerprint() || len(h.Digest) != 64 {
		t.Errorf("digest %q", h.Digest)
	}
	if again := Fingerprint(t.Context(), t.TempDir()); again.Digest != h.Digest {
		t.Errorf("the same machine has another digest: %+v and %+v", h, again)
	}
	named := h
	named.Name = "another"
	if named.Fingerprint() != h.Digest {
		t.Error("the digest depends on the name")
	}
	if runtime.GOOS == "linux" {
		for name, missing := range map[string]bool{
			"kernel": h.Kernel == "", "memory": h.MemoryBytes < 1<<20, "CPU model": h.CPUModel == "", "swap": h.SwapBytes == nil,
			"filesystem": h.Filesystem == "", "name": h.Name == "",
		} {
			if missing {
				t.Errorf("no %s in %+v", name, h)
			}
		}
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("something unreadable is not absent: %s", text)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if h := Fingerprint(cancelled, t.TempDir()); h.Filesystem != "" || h.OS == "" {
		t.Errorf("cancelled: %+v", h)
	}
}

func TestCapacityIsTheNarrowestLimit(t *testing.T) {
	for _, tc := range []struct {
		name string
		host result.Host
		want Capacity
	}{
		{"no limits", result.Host{CPUs: 16, MemoryBytes: 64}, Capacity{64, 16}},
		{"cgroup", result.Host{CPUs: 16, MemoryBytes: 64, CgroupCPUs: new(2.9), CgroupBytes: new(int64(8))}, Capacity{8, 2}},
		{"half a CPU", result.Host{CPUs: 16, CgroupCPUs: new(0.5)}, Capacity{0, 1}},
		{"limits above the machine", result.Host{CPUs: 2, MemoryBytes: 64, CgroupCPUs: new(8.0), CgroupBytes: new(int64(128))}, Capacity{64, 2}},
		{"only the cgroup tells", result.Host{CPUs: 2, CgroupBytes: new(int64(128))}, Capacity{128, 2}},
	} {
		if got := capacityOf(tc.host); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
	if c := Resources(); c.CPUs < 1 || runtime.GOOS == "linux" && c.MemoryBytes < 1<<20 {
		t.Errorf("this machine: %+v", c)
	}
}
