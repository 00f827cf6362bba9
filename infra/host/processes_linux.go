package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The steps of this file change nothing but the processes that are started later. Each is tried on a thread that ends at once, so that it
// is known before anything is measured whether it will be had; there is nothing to put back.

func filesStep(wanted int64) step {
	return limitStep(StepFiles, unix.RLIMIT_NOFILE, wanted, "LimitNOFILE", func(p *Placement, n int64) { p.OpenFiles = n })
}

func lockedStep(wanted int64) step {
	return limitStep(StepLocked, unix.RLIMIT_MEMLOCK, wanted, "LimitMEMLOCK", func(p *Placement, n int64) { p.LockedBytes = n })
}

func limitStep(name string, resource int, wanted int64, unitOption string, place func(*Placement, int64)) step {
	number := uint64(wanted)
	if wanted == Unlimited {
		number = unix.RLIM_INFINITY
	}
	asked := limitText(resource, number)
	return step{name: name, asked: "at least " + asked, take: func(_ context.Context, t *turn) (took, error) {
		wanted := wanted
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return took{}, err
		}
		got := took{before: limitText(resource, now.Cur), after: limitText(resource, max(now.Cur, number))}
		var wish Placement
		place(&wish, wanted)
		err := wish.limited(func() error { return nil })
		if err != nil {
			// What may be had is better than what commands get by themselves, which is often 1024.
			wanted = int64(now.Max)
			err = fmt.Errorf("%w, and they get that; set %s in the worker's unit or raise it in limits.conf", err, unitOption)
		}
		place(&t.out.Agent, wanted)
		place(&t.out.Server, wanted)
		return got, err
	}}
}

func niceStep(wanted *int) step {
	s := step{name: StepNice}
	if wanted == nil {
		return s
	}
	s.asked = strconv.Itoa(*wanted)
	s.take = func(_ context.Context, t *turn) (took, error) {
		got := took{after: s.asked}
		// The system call returns 20 less the nice value, so that it is never negative.
		if raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
			got.before = strconv.Itoa(20 - raw)
		}
		if err := onThread(func() error { return Placement{Nice: wanted}.placeThread(0) }); err != nil {
			return got, err
		}
		t.out.Agent.Nice, t.out.Server.Nice = wanted, wanted
		return got, nil
	}
	return s
}

func ioStep(wanted string) step {
	return step{name: StepIO, asked: wanted, take: func(_ context.Context, t *turn) (took, error) {
		got := took{after: wanted}
		if err := onThread(func() error { return Placement{IO: wanted}.placeThread(0) }); err != nil {
			return got, err
		}
		t.out.Agent.IO, t.out.Server.IO = wanted, wanted
		return got, nil
	}}
}

func (s system) cpuStep(server string) step {
	return step{name: StepCPUs, asked: "own CPUs for agent and server", take: func(_ context.Context, t *turn) (took, error) {
		topology := s.topology()
		all := make([]int, len(topology.CPUs))
		for i, cpu := range topology.CPUs {
			all[i] = cpu.ID
		}
		got := took{before: "all on " + list(all)}
		sets := SplitCPUs(topology, server != "embedded" && server != "endpoint")
		record := &t.out.Record
		record.CPUNote = sets.Why
		if len(sets.Agent) == 0 {
			return got, errors.New(sets.Why)
		}
		agent, database := Placement{CPUs: sets.Agent}, Placement{CPUs: sets.Server}
		for _, p := range []Placement{agent, database} {
			if err := onThread(func() error { return p.placeThread(0) }); err != nil {
				return got, err
			}
		}
		record.SharedCPUs = server == "embedded"
		record.AgentCPUs, record.ServerCPUs = agent.CPUList(), database.CPUList()
		t.out.Agent.CPUs, t.out.Server.CPUs = sets.Agent, sets.Server
		got.after, got.why = "agent on "+record.AgentCPUs, sets.Why
		if record.ServerCPUs != "" {
			got.after += ", server on " + record.ServerCPUs
		}
		return got, nil
	}}
}
