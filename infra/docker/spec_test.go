package docker

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/drivers"
)

// sample is an engine with everything that a description can have.
func sample() *drivers.Server {
	return &drivers.Server{
		Binaries: []string{"sampled", "samplesrv"}, Image: "sample:1.2", Port: 7777, User: "sampler", StopSignal: 2,
		Command: func(l drivers.Launch) []string {
			return []string{l.Binary, "--config", l.Dir + "/sample.conf", "--data", l.Data, "--listen", l.Host}
		},
		Files: func(l drivers.Launch) map[string]string {
			return map[string]string{"sample.conf": "password " + l.Password + "\n"}
		},
		Env:      func(drivers.Launch) map[string]string { return map[string]string{"SAMPLE_PASSWORD_FILE": "x"} },
		Endpoint: func(l drivers.Launch) string { return "sample://" + l.Host },
		Settings: func(_ drivers.Profile, _ drivers.Tier, r drivers.Resources) []drivers.Setting {
			return []drivers.Setting{{Name: "cache", Value: "1", Why: "test"}, {Name: "cpus", Value: strings.Repeat("i", r.CPUs), Why: "test"}}
		},
		SharedMemory: func(l drivers.Launch) int64 { return int64(len(l.Settings)) << 30 },
		Limits:       map[string]int64{"memlock": -1},
	}
}

func sampleOptions() Options {
	return Options{
		Engine: "Sample", Name: "sample", Server: sample(), RunID: "r1", Step: "start", Resources: drivers.Resources{MemoryBytes: 16 << 30, CPUs: 8},
		Connections: 10, CPUs: "2-4,7", MemoryBytes: 8 << 30, Ready: func(context.Context, *Running) error { return nil },
	}
}

// complete are options as a start works with them.
func complete(t *testing.T, o Options) *Options {
	t.Helper()
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	return &o
}

func specOf(t *testing.T, o Options, password string) Spec {
	t.Helper()
	s, err := complete(t, o).spec(password)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpecOfOptions(t *testing.T) {
	want := Spec{
		Name: "durabench-sample-r1", Image: "sample:1.2", Port: 7777, Volume: "durabench-run-r1",
		Command: []string{"sampled", "--config", "/durabench/server/sample.conf", "--data", "/durabench/server/data", "--listen", "0.0.0.0"},
		Env:     map[string]string{"SAMPLE_PASSWORD_FILE": "x"}, Files: map[string]string{"sample.conf": "password secret\n"},
		Limits: map[string]int64{"memlock": -1}, SharedMemory: 2 << 30, CPUs: "2-4,7", MemoryBytes: 8 << 30, StopSignal: "SIGINT",
		// Settings are computed from what the container may use, not from what the host has.
		Settings: []drivers.Setting{{Name: "cache", Value: "1", Why: "test"}, {Name: "cpus", Value: "iiii", Why: "test"}},
	}
	if diff := cmp.Diff(want, specOf(t, sampleOptions(), "secret")); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestSpecOfWhatTheUserChose(t *testing.T) {
	o := sampleOptions()
	o.Image, o.Binary, o.Volume, o.Connections = "other/sample:9", "othersrv", VolumeName("sample", "nightly"), 5000
	s := specOf(t, o, "")
	if s.Image != "other/sample:9" || s.Command[0] != "othersrv" || s.Volume != "durabench-sample-nightly" {
		t.Errorf("image %s, command %s, volume %s", s.Image, s.Command[0], s.Volume)
	}
	// More connections than engines leave open files for.
	if s.Limits["nofile"] != 65_536 || s.Limits["memlock"] != -1 {
		t.Errorf("limits are %v", s.Limits)
	}
}

func TestSharedMemory(t *testing.T) {
	const mb, gb = int64(1) << 20, int64(1) << 30
	for _, c := range []struct {
		name          string
		wanted        int64 // by the server; -1: it does not say
		memory, limit int64
		want          int64
	}{
		{"the engine's usual", -1, 16 * gb, 0, 64 * mb},
		{"what the settings come to", 3 * gb, 16 * gb, 0, 3 * gb},
		{"never less than usual", 1 * mb, 16 * gb, 0, 64 * mb},
		{"half of the host", 12 * gb, 16 * gb, 0, 8 * gb},
		{"half of the limit", 12 * gb, 16 * gb, 4 * gb, 2 * gb},
		{"usual on a small host", 12 * gb, 100 * mb, 0, 64 * mb},
		{"a host that nobody knows", 12 * gb, 0, 0, 12 * gb},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := sampleOptions()
			o.Resources.MemoryBytes, o.MemoryBytes = c.memory, c.limit
			o.Server.SharedMemory = func(drivers.Launch) int64 { return c.wanted }
			if c.wanted < 0 {
				o.Server.SharedMemory = nil
			}
			if got := specOf(t, o, "").SharedMemory; got != c.want {
				t.Errorf("shared memory is %d MiB, want %d", got/mb, c.want/mb)
			}
		})
	}
}

// Each thing that decides how the server runs is in the digest, and nothing else is.
func TestDigest(t *testing.T) {
	base := specOf(t, sampleOptions(), "").digest()
	for name, c := range map[string]struct {
		change  func(*Options)
		differs bool
	}{
		"nothing":      {func(*Options) {}, false},
		"step":         {func(o *Options) { o.Step = "again" }, false},
		"kept":         {func(o *Options) { o.KeepOnFailure = true }, false},
		"pull policy":  {func(o *Options) { o.Pull = PullAlways }, false},
		"published":    {func(o *Options) { o.Published = true }, false},
		"own image":    {func(o *Options) { o.Image = "sample:1.2" }, false},
		"other image":  {func(o *Options) { o.Image = "sample:1.3" }, true},
		"binary":       {func(o *Options) { o.Binary = "x" }, true},
		"CPUs":         {func(o *Options) { o.CPUs = "2-4" }, true},
		"memory":       {func(o *Options) { o.MemoryBytes = 4 << 30 }, true},
		"volume":       {func(o *Options) { o.Volume = "v" }, true},
		"run":          {func(o *Options) { o.RunID = "r2" }, true},
		"file":         {func(o *Options) { o.Server.Files = func(drivers.Launch) map[string]string { return nil } }, true},
		"environment":  {func(o *Options) { o.Server.Env = nil }, true},
		"stop signal":  {func(o *Options) { o.Server.StopSignal = 0 }, true},
		"shared":       {func(o *Options) { o.Server.SharedMemory = nil }, true},
		"limits":       {func(o *Options) { o.Server.Limits = nil }, true},
		"open files":   {func(o *Options) { o.Connections = 5000 }, true},
		"command":      {func(o *Options) { o.Server.Command = func(drivers.Launch) []string { return []string{"x"} } }, true},
		"port":         {func(o *Options) { o.Server.Port = 1 }, true},
		"some clients": {func(o *Options) { o.Connections = 11 }, false},
	} {
		o := sampleOptions()
		c.change(&o)
		if got := specOf(t, o, "").digest(); (got != base) != c.differs {
			t.Errorf("%s: the digest differs %t, want %t", name, got != base, c.differs)
		}
	}
}

func TestThePasswordIsInFilesAlone(t *testing.T) {
	const password = "correct-horse-battery"
	o := complete(t, sampleOptions())
	s, err := o.spec(password)
	if err != nil {
		t.Fatal(err)
	}
	config := s.config()
	config.Labels = o.labels()
	for name, value := range map[string]any{"config": config, "host": s.hostConfig(), "volume": o.volumeLabels()} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), password) {
			t.Errorf("the password is in the %s", name)
		}
	}

	bad := sampleOptions()
	bad.Server.Command = func(l drivers.Launch) []string { return []string{"sampled", "--password=" + l.Password} }
	if _, err := complete(t, bad).spec(password); err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("a password on the command line: %v", err)
	}
}

func TestFilesStayBelowTheLaunchDirectory(t *testing.T) {
	for name, fine := range map[string]bool{
		"a.conf": true, "conf/a.conf": true, "": false, ".": false, "..": false, "../password": false, "/etc/passwd": false, "a/../../b": false, "a//b": false,
	} {
		o := sampleOptions()
		o.Server.Files = func(drivers.Launch) map[string]string { return map[string]string{name: "x"} }
		if _, err := complete(t, o).spec(""); (err == nil) != fine {
			t.Errorf("file %q: %v", name, err)
		}
	}
}

func TestContainerIsMadeAsTheSpecSays(t *testing.T) {
	s := specOf(t, sampleOptions(), "secret")
	config, host := s.config(), s.hostConfig()
	if config.StopSignal != "SIGINT" || cmp.Diff([]string{"SAMPLE_PASSWORD_FILE=x"}, config.Env) != "" {
		t.Errorf("stop signal %s, environment %v", config.StopSignal, config.Env)
	}
	for port, bindings := range host.PortBindings {
		if port != "7777/tcp" || len(bindings) != 1 || bindings[0].HostIP != "127.0.0.1" || bindings[0].HostPort != "0" {
			t.Errorf("port %s is published as %v", port, bindings)
		}
	}
	if len(host.Ulimits) != 1 || host.Ulimits[0].Name != "memlock" || host.Ulimits[0].Soft != -1 || host.Ulimits[0].Hard != -1 {
		t.Errorf("limits are %v", host.Ulimits)
	}
	if host.Memory != 8<<30 || host.MemorySwap != 8<<30 || host.CpusetCpus != "2-4,7" || host.ShmSize != 2<<30 {
		t.Errorf("memory %d, with swap %d, CPUs %s, shared memory %d", host.Memory, host.MemorySwap, host.CpusetCpus, host.ShmSize)
	}
	if host.LogConfig.Type != "json-file" || host.LogConfig.Config["max-size"] == "" {
		t.Errorf("log is %v", host.LogConfig)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"redis", "redis-20261201-a1b2"}, "durabench-redis-redis-20261201-a1b2"},
		{[]string{"redis", "a.b_c"}, "durabench-redis-a.b_c"},
	} {
		if got := objectName(c.parts...); got != c.want {
			t.Errorf("name of %q is %q, want %q", c.parts, got, c.want)
		}
	}
	if objectName("redis", "a/b") == objectName("redis", "a:b") {
		t.Error("two runs have one name")
	}
}

func TestLabelsAreOurs(t *testing.T) {
	o := complete(t, sampleOptions())
	if run, is := ours(o.labels()); !is || run != "r1" {
		t.Errorf("our own labels: %q, %t", run, is)
	}
	for name, labels := range map[string]map[string]string{
		"none": nil, "no run": {labelOurs: "1"}, "run alone": {labelRun: "r1"}, "not 1": {labelOurs: "yes", labelRun: "r1"},
	} {
		if _, is := ours(labels); is {
			t.Errorf("%s: taken for ours", name)
		}
	}
}

func TestCPUSets(t *testing.T) {
	for set, want := range map[string]int{
		"": 0, "0": 1, "0-3": 4, "0-3,8": 5, "1,1,0-2": 3, "3-1": -1, "a": -1, "1-": -1, "-1": -1, ",": -1, "0-99999": -1, "1 ,2": -1,
	} {
		got, err := countCPUs(set)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("CPU set %q: %d, %v; want %d", set, got, err, want)
		}
	}
}
