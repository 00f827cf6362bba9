package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/result"
)

func TestTopologyOfMachines(t *testing.T) {
	files := map[string]string{
		"sys/devices/system/cpu/online": "0-3\n", "sys/devices/system/cpu/smt/control": "on\n",
		"sys/devices/system/cpu/intel_pstate/no_turbo":              "0\n",
		"sys/devices/system/cpu/cpuidle/current_driver":             "intel_idle\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state0/name":           "POLL\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state1/name":           "C1\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state2/name":           "C6\n",
		"sys/devices/system/cpu/cpu0/cpuidle/state2/disable":        "1\n",
		"sys/devices/system/cpu/vulnerabilities/meltdown":           "Not affected\n",
		"sys/devices/system/cpu/vulnerabilities/spectre_v2":         "Mitigation: Retpolines\n",
		"sys/devices/system/cpu/vulnerabilities/mds":                "Vulnerable\n",
		"sys/devices/system/cpu/cpu0/topology/physical_package_id":  "0\n",
		"sys/devices/system/cpu/cpu1/topology/physical_package_id":  "1\n",
		"sys/devices/system/cpu/cpu2/topology/physical_package_id":  "0\n",
		"sys/devices/system/cpu/cpu3/topology/physical_package_id":  "1\n",
		"sys/devices/system/cpu/cpu0/topology/core_cpus_list":       "0,2\n",
		"sys/devices/system/cpu/cpu1/topology/core_cpus_list":       "1,3\n",
		"sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "0,2\n",
		"sys/devices/system/cpu/cpu3/topology/thread_siblings_list": "1,3\n",
		"sys/devices/system/cpu/cpu1/node1/cpulist":                 "1,3\n",
		"sys/devices/system/cpu/cpu3/node1/cpulist":                 "1,3\n",
		"sys/devices/system/cpu/cpu0/node0/cpulist":                 "0,2\n",
		"sys/devices/system/cpu/cpu2/node0/cpulist":                 "0,2\n",
		"proc/7/cgroup":         "0::/\n",
		"proc/self/mountinfo":   mountV2,
		"sys/fs/cgroup/cpu.max": "350000 100000\n",
	}
	s := root(t, files)
	s.cpus = []int{1, 2, 3, 9} // 9 has been taken offline
	want := Topology{CPUs: []CPU{{1, "1,3", 1}, {2, "0,2", 0}, {3, "1,3", 1}}, Quota: 3.5}
	if diff := cmp.Diff(want, s.topology()); diff != "" {
		t.Error(diff)
	}
	var h result.Host
	s.describeCPUs(&h)
	if diff := cmp.Diff(result.Host{
		Sockets: 2, Cores: 2, Threads: 4, Nodes: 2, SMT: "on", Boost: "on", IdleStates: "intel_idle: POLL, C1",
		Mitigations: []string{"mds: Vulnerable", "spectre_v2: Mitigation: Retpolines"},
	}, h); diff != "" {
		t.Error(diff)
	}

	var bare result.Host
	s = root(t, map[string]string{"sys/devices/system/cpu/cpufreq/boost": "0\n"})
	s.cpus = []int{0, 1}
	s.describeCPUs(&bare)
	if diff := cmp.Diff(result.Host{Boost: "off"}, bare); diff != "" {
		t.Errorf("hardly anything readable: %s", diff)
	}
	if diff := cmp.Diff(Topology{CPUs: []CPU{{0, "0", 0}, {1, "1", 0}}}, s.topology()); diff != "" {
		t.Errorf("hardly anything readable: %s", diff)
	}
}

func TestDiskBelowADirectory(t *testing.T) {
	const (
		nvme = "sys/devices/pci/nvme0/nvme0n1/"
		sda  = "sys/devices/pci/ata1/sda/"
		dm   = "sys/devices/virtual/block/dm-0/"
		vda  = "sys/devices/virtio1/vda/"
	)
	data, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		mount string // device number, filesystem and source
		want  *result.Disk
	}{
		{"a partition", "259:1 / %s rw - ext4 /dev/nvme0n1p1 rw", &result.Disk{Model: "Samsung SSD 990", Rotational: new(false), WriteCache: "write back", Scheduler: "none"}},
		{"an encrypted mirror", "253:0 / %s rw - xfs /dev/mapper/crypt rw", &result.Disk{Model: "Samsung SSD 990, WDC WD40", Rotational: new(true), WriteCache: "write through", Scheduler: "mq-deadline"}},
		{"btrfs numbers its mounts itself", "0:45 / %s rw - btrfs /dev/nvme0n1p1 rw", &result.Disk{Model: "Samsung SSD 990", Rotational: new(false), WriteCache: "write back", Scheduler: "none"}},
		{"a virtual disk", "254:0 / %s rw - ext4 /dev/vda rw", &result.Disk{Model: "virtio_blk", WriteCache: "write back"}},
		{"memory", "0:46 / %s rw - tmpfs tmpfs rw", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mount := "28 27 " + replaceOnce(tc.mount, "%s", data) + "\n"
			s := root(t, map[string]string{
				"proc/self/mountinfo": mount,
				nvme + "device/model": "Samsung  SSD 990   \n", nvme + "queue/rotational": "0\n", nvme + "queue/write_cache": "write back\n",
				nvme + "queue/scheduler": "[none] mq-deadline\n", nvme + "nvme0n1p1/partition": "1\n",
				sda + "device/model": "WDC WD40\n", sda + "queue/rotational": "1\n",
				dm + "queue/rotational": "1\n", dm + "queue/write_cache": "write through\n", dm + "queue/scheduler": "none [mq-deadline]\n",
				vda + "queue/write_cache": "write back\n", vda + "device/status": "",
				"sys/bus/virtio/drivers/virtio_blk/bind": "",
			})
			for link, to := range map[string]string{
				"sys/dev/block/259:1": nvme + "nvme0n1p1", "sys/class/block/nvme0n1p1": nvme + "nvme0n1p1", "sys/dev/block/253:0": dm, "sys/dev/block/254:0": vda,
				dm + "slaves/nvme0n1p1": nvme + "nvme0n1p1", dm + "slaves/sda": sda, vda + "device/driver": "sys/bus/virtio/drivers/virtio_blk",
			} {
				if err := os.MkdirAll(filepath.Dir(s.path(link)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(s.path(to), s.path(link)); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, s.disk(data)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if d := root(t, nil).disk(data); d != nil {
		t.Errorf("without mounts: %+v", d)
	}
}

func replaceOnce(text, old, new string) string {
	for i := 0; i+len(old) <= len(text); i++ {
		if text[i:i+len(old)] == old {
			return text[:i] + new + text[i+len(old):]
		}
	}
	return text
}

func TestTimesOfTheMachine(t *testing.T) {
	const stat = "cpu  100 20 30 4000 50 6 7 80 90 9\ncpu0 1 1 1 1\nprocs_running 2\nprocs_blocked 3\n"
	s := root(t, map[string]string{"proc/stat": stat, "proc/loadavg": "1.25 1.00 0.50 1/100 1234\n"})
	times, blocked, err := s.cpuTimes()
	// Guests' time is in user's, waiting for devices is idle, stolen time is nobody's work here.
	if want := (cpuTimes{busy: 1630e6, stolen: 800e6}); times != want || blocked != 3 || err != nil {
		t.Errorf("%+v, %d, %v; want %+v", times, blocked, err, want)
	}
	l, err := s.loadReader(nil)()
	if want := (load{busy: 1630e6, blocked: 3, average: 1.25}); l != want || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
	for _, text := range []string{"", "cpu 1 2\n", "intr 1 2 3 4 5 6 7 8\n", "cpu a b c d e f g h\n"} {
		if _, _, err := root(t, map[string]string{"proc/stat": text}).cpuTimes(); err == nil {
			t.Errorf("%q is read", text)
		}
	}
	for _, tc := range []struct {
		after cpuTimes
		want  float64
	}{
		{cpuTimes{busy: 1630e6, stolen: 800e6}, -1}, // nothing was wanted
		{cpuTimes{busy: 1930e6, stolen: 900e6}, 0.25},
		{cpuTimes{busy: 1930e6, stolen: 700e6}, 0}, // it has gone backwards, which some kernels let it
	} {
		if got := times.stolenUntil(tc.after); got != tc.want {
			t.Errorf("%+v: %g, want %g", tc.after, got, tc.want)
		}
	}
}
