package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/durabench/durabench/bench/result"
)

// root makes a directory that looks like the root of a machine with these files, in which process 7 is this one.
func root(t *testing.T, files map[string]string) system {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	return system{root: dir, pid: 7}
}

func TestDescriptionOfMachines(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  result.Host
	}{
		{"nothing readable", nil, result.Host{}},
		{"a machine of our own", map[string]string{
			"proc/meminfo": "MemTotal:       2048 kB\nSwapTotal:      0 kB\n",
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "performance\n",
			"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":            "powersave\n",
			"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor":            "performance\n",
			"sys/kernel/mm/transparent_hugepage/enabled":                      "always [madvise] never\n",
			"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
			"sys/class/dmi/id/sys_vendor":                                     "Dell Inc.\n",
			"sys/class/dmi/id/product_name":                                   "PowerEdge R640\n",
		}, result.Host{MemoryBytes: 2 << 20, SwapBytes: new(int64(0)), Governor: "performance, powersave", THP: "madvise", ClockSource: "tsc"}},
		{"a virtual machine in the cloud", map[string]string{
			"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "m7g.large",
		}, result.Host{Virtual: "hypervisor (Amazon EC2 m7g.large)"}},
		{"a metal machine in the cloud", map[string]string{
			"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "m7g.metal",
		}, result.Host{}},
		{"a container", map[string]string{".dockerenv": ""}, result.Host{Virtual: "Docker container"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h result.Host
			root(t, tc.files).describe(&h)
			if diff := cmp.Diff(tc.want, h); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProcessorsAreNamed(t *testing.T) {
	for _, tc := range []struct {
		cpus []procfs.CPUInfo
		want string
	}{
		{nil, ""},
		{[]procfs.CPUInfo{{ModelName: "AMD EPYC"}, {ModelName: "AMD EPYC"}}, "AMD EPYC"},
		{[]procfs.CPUInfo{{VendorID: "0x41", Model: "0xd0c"}, {VendorID: "0x41", Model: "0xd0b"}}, "implementer 0x41 part 0xd0c, implementer 0x41 part 0xd0b"},
	} {
		if got := cpuModel(tc.cpus); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	s := root(t, nil)
	if got := s.virtual([]procfs.CPUInfo{{Flags: []string{"fpu", "hypervisor"}}}, "6.1.0-microsoft-standard-WSL2"); got != "WSL, hypervisor" {
		t.Errorf("hints are %q", got)
	}
}

const (
	mountV2 = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	mountV1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n36 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)

func TestControlGroupLimits(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  limits
	}{
		{"none", nil, limits{}},
		{"v2, the narrowest of all levels", map[string]string{
			"proc/7/cgroup": "0::/a/b\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/a/cpu.max":    "150000 100000\n",
			"sys/fs/cgroup/a/b/cpu.max":  "max 100000\n",
			"sys/fs/cgroup/a/memory.max": "4096\n", "sys/fs/cgroup/a/b/memory.max": "8192\n",
			"sys/fs/cgroup/cpu.max": "50000 100000\n", // the root has none in truth; if it had, it would count
		}, limits{new(0.5), new(int64(4096))}},
		{"v2 in a container, which sees itself as the root", map[string]string{
			"proc/7/cgroup": "0::/\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/cpu.max": "200000 100000\n", "sys/fs/cgroup/memory.max": "max\n",
		}, limits{new(2.0), nil}},
		{"v2, mounted from the container's group on", map[string]string{
			"proc/7/cgroup":         "0::/docker/x/sub\n",
			"proc/self/mountinfo":   "41 31 0:38 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/cpu.max": "300000 100000", "sys/fs/cgroup/sub/cpu.max": "100000 100000",
		}, limits{new(1.0), nil}},
		{"v1", map[string]string{
			"proc/7/cgroup": "2:cpu,cpuacct:/a\n4:memory:/a\n9:name=systemd:/\n", "proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "250000", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
		}, limits{new(2.5), new(int64(1 << 30))}},
		{"v1 without limits", map[string]string{
			"proc/7/cgroup": "2:cpu,cpuacct:/\n4:memory:/\n", "proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
		}, limits{}},
		{"unreadable", map[string]string{
			"proc/7/cgroup": "0::/a\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/a/cpu.max": "", "sys/fs/cgroup/a/memory.max": "x",
		}, limits{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := root(t, tc.files)
			fs, err := procfs.NewFS(s.path("proc"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.cgroup(fs), cmp.AllowUnexported(limits{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFilesystemOfADirectory(t *testing.T) {
	data := t.TempDir()
	real, err := filepath.EvalSymlinks(data)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(data, "link")
	if err := os.Symlink(filepath.Join(data, "disk one"), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"disk one", "dis"} {
		if err := os.Mkdir(filepath.Join(data, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := root(t, map[string]string{"proc/self/mountinfo": "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resuid=65534\n" +
		"28 27 0:30 / " + real + `/disk\040one` + " rw,noatime - ext4 /dev/vdb rw\n" +
		"29 28 0:31 / " + real + `/disk\040one` + " rw,noatime - xfs /dev/vdc rw,logbsize=256k\n" +
		"30 27 0:32 / " + real + "/dis rw - tmpfs tmpfs rw,size=4k\n"})
	for dir, want := range map[string]string{
		data:                            "ext4, discard, relatime",
		filepath.Join(data, "disk one"): "xfs, logbsize=256k, noatime",
		filepath.Join(data, "disk one", "a", "b"): "xfs, logbsize=256k, noatime", // will be made
		filepath.Join(link, "a"):                  "xfs, logbsize=256k, noatime",
		filepath.Join(data, "dis", "x"):           "tmpfs",
		filepath.Join(data, "distant"):            "ext4, discard, relatime",
	} {
		if got := s.filesystem(dir); got != want {
			t.Errorf("%s is on %q, want %q", dir, got, want)
		}
	}
	if got := root(t, nil).filesystem(data); got != "" {
		t.Errorf("without mounts: %q", got)
	}
}
