package host

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/result"
)

func TestControlGroupOfAServer(t *testing.T) {
	const ms = time.Millisecond
	figures := func(cpu, throttled time.Duration, memory int64) groupFigures {
		return groupFigures{&cpu, &throttled, &memory}
	}
	for _, test := range []struct {
		name  string
		files map[string]string
		want  *groupFigures
	}{
		{"v2", map[string]string{
			"proc/7/cgroup": "0::/worker\n", "proc/9/cgroup": "0::/docker/x\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/docker/x/cgroup.procs": "8\n9\n", "sys/fs/cgroup/docker/x/memory.current": "4096\n",
			"sys/fs/cgroup/docker/x/cpu.stat": "usage_usec 250000\nuser_usec 1\nthrottled_usec 5000\n",
		}, new(figures(250*ms, 5*ms, 4096))},
		{"v1, with a version 2 that has no controllers", map[string]string{
			"proc/7/cgroup": "2:cpu,cpuacct:/\n4:memory:/w\n0::/\n", "proc/9/cgroup": "2:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n0::/docker/x\n",
			"proc/self/mountinfo":                     mountV1 + mountV2,
			"sys/fs/cgroup/cpu/docker/x/cgroup.procs": "9\n", "sys/fs/cgroup/cpu/docker/x/cpuacct.usage": "30000000\n",
			"sys/fs/cgroup/cpu/docker/x/cpu.stat":        "nr_throttled 2\nthrottled_time 7000000\n",
			"sys/fs/cgroup/memory/docker/x/cgroup.procs": "9\n", "sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes": "8192\n",
			"sys/fs/cgroup/docker/x/cgroup.procs": "9\n",
		}, new(figures(30*ms, 7*ms, 8192))},
		{"a process in the worker's own group", map[string]string{
			"proc/7/cgroup": "0::/worker\n", "proc/9/cgroup": "0::/worker\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/worker/cgroup.procs": "7\n9\n", "sys/fs/cgroup/worker/memory.current": "4096\n",
		}, nil},
		{"a group that cannot be seen from here: what is mounted is the one around it", map[string]string{
			"proc/7/cgroup": "0::/\n", "proc/9/cgroup": "0::/../x\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/cgroup.procs": "7\n", "sys/fs/cgroup/memory.current": "4096\n",
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := root(t, test.files).groupOf(9)
			if (read != nil) != (test.want != nil) {
				t.Fatalf("group was found: %v", read != nil)
			}
			if read == nil {
				return
			}
			if diff := cmp.Diff(*test.want, read(), cmp.AllowUnexported(groupFigures{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whether others are in a process's group or not, the quota of the group is that of the process.
func TestThrottleIsThatOfAnyGroup(t *testing.T) {
	shared := map[string]string{
		"proc/7/cgroup": "0::/worker\n", "proc/9/cgroup": "0::/worker\n", "proc/self/mountinfo": mountV2,
		"sys/fs/cgroup/worker/cgroup.procs": "7\n9\n", "sys/fs/cgroup/worker/memory.current": "4096\n",
		"sys/fs/cgroup/worker/cpu.stat": "usage_usec 5000\nthrottled_usec 7000\n",
	}
	read := root(t, shared).throttleOf(9)
	if read == nil {
		t.Fatal("the group was not found")
	}
	if diff := cmp.Diff(groupFigures{throttled: new(7 * time.Millisecond)}, read(), cmp.AllowUnexported(groupFigures{})); diff != "" {
		t.Error(diff)
	}
	around := map[string]string{
		"proc/9/cgroup": "0::/../x\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/cgroup.procs": "7\n", "sys/fs/cgroup/cpu.stat": "throttled_usec 7000\n",
	}
	if root(t, around).throttleOf(9) != nil {
		t.Error("the group around it was taken")
	}
}

func TestGroupFiguresAreDifferencesAndOutliveTheGroup(t *testing.T) {
	figures := func(cpu time.Duration, memory int64) groupFigures { return groupFigures{cpu: &cpu, memory: &memory} }
	series := []groupFigures{figures(time.Second, 100), figures(3*time.Second, 900), figures(4*time.Second, 300), {}}
	g := newGroupSeries(func() groupFigures {
		next := series[0]
		if len(series) > 1 {
			series = series[1:]
		}
		return next
	})
	for range 4 {
		g.look()
	}
	if diff := cmp.Diff(&result.GroupUsage{CPUSeconds: new(3.0), MemoryPeak: new(int64(900))}, g.report()); diff != "" {
		t.Error(diff)
	}
	none := newGroupSeries(nil)
	none.look()
	if none.report() != nil {
		t.Error("no group has figures")
	}
}

// This process shares its group with itself: its children have no account of their own.
func TestAChildHasNoGroupOfItsOwn(t *testing.T) {
	if groupOf(os.Getpid()) != nil {
		t.Error("a group was found that holds this process too")
	}
}
