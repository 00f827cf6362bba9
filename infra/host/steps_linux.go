package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// thisMachine is the machine that this program runs on.
func thisMachine() rig {
	return (system{root: "/", pid: os.Getpid(), cpus: allowedCPUs()}).rig(linux{})
}

// allowedCPUs returns the CPUs that this process may run on.
func allowedCPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil
	}
	var ids []int
	for id := 0; len(ids) < set.Count(); id++ {
		if set.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// The kinds of knobs, as the journal has them.
const (
	knobHugePages = "thp"
	knobGovernor  = "governor"
	knobSwap      = "swap"
	knobService   = "service"
)

func (s system) rig(k control) rig {
	return rig{
		boot: s.word("proc/sys/kernel/random/boot_id"),
		knobs: map[string]knob{
			knobHugePages: hugePages{s, k},
			knobGovernor:  governor{s, k},
			knobSwap:      swap{s, k},
			knobService:   service{s, k},
		},
		steps: func(i Isolation) []step {
			var steps []step
			for _, name := range StepNames() {
				steps = append(steps, s.step(k, i, name))
			}
			return steps
		},
	}
}

// step returns a step by its name.
func (s system) step(k control, i Isolation, name string) step {
	switch name {
	case StepServices:
		return s.serviceStep(i.Services)
	case StepSwap:
		return s.swapStep()
	case StepHugePages:
		return s.hugePagesStep(i.HugePages)
	case StepGovernor:
		return s.governorStep(i.Governor)
	case StepFiles:
		return filesStep(i.OpenFiles)
	case StepLocked:
		return lockedStep(i.LockedBytes)
	case StepNice:
		return niceStep(i.Nice)
	case StepIO:
		return ioStep(i.IO)
	case StepCPUs:
		return s.cpuStep(i.Server)
	case StepCaches:
		return s.cacheStep(k)
	default:
		return s.quietStep(i)
	}
}

// hugePagesFile holds the modes of transparent huge pages, the one that is on in square brackets.
const hugePagesFile = "sys/kernel/mm/transparent_hugepage/enabled"

// hugePages is the knob of transparent huge pages. It has one object.
type hugePages struct {
	system
	kernel control
}

func (h hugePages) read(context.Context, string) (string, error) {
	text, err := os.ReadFile(h.path(hugePagesFile))
	if err != nil {
		return "", err
	}
	mode := chosen(string(text))
	if mode == "" {
		return "", fmt.Errorf("no mode of %q is on", strings.TrimSpace(string(text)))
	}
	return mode, nil
}

func (h hugePages) write(_ context.Context, _, value string) error {
	return refusal(h.kernel.write(h.path(hugePagesFile), value))
}

func (s system) hugePagesStep(mode string) step {
	return step{name: StepHugePages, asked: mode, take: func(ctx context.Context, t *turn) (took, error) {
		before, err := t.change(ctx, knobHugePages, "enabled", mode)
		if errors.Is(err, os.ErrNotExist) {
			if mode == "never" {
				return took{before: "never", after: "never", why: "the kernel has no transparent huge pages"}, nil
			}
			err = errors.New("the kernel has no transparent huge pages")
		}
		return took{before: before, after: mode}, err
	}}
}

// governor is the knob of the frequency governors. An object is a set of CPUs that the kernel clocks together, "policy0".
type governor struct {
	system
	kernel control
}

func (g governor) file(object string) string {
	return g.path(filepath.Join("sys/devices/system/cpu/cpufreq", filepath.Base(object), "scaling_governor"))
}

func (g governor) read(_ context.Context, object string) (string, error) {
	text, err := os.ReadFile(g.file(object))
	return strings.TrimSpace(string(text)), err
}

func (g governor) write(_ context.Context, object, value string) error {
	err := refusal(g.kernel.write(g.file(object), value))
	if errors.Is(err, unix.EINVAL) {
		offered := g.word(filepath.Join("sys/devices/system/cpu/cpufreq", filepath.Base(object), "scaling_available_governors"))
		return fmt.Errorf("the kernel offers %q: %w", offered, err)
	}
	return err
}

// errNoGovernor is why the governor cannot be set.
var errNoGovernor = errors.New("the clock of the CPUs cannot be governed from here, as in most virtual machines")

func (s system) governorStep(wanted string) step {
	return step{name: StepGovernor, asked: wanted, take: func(ctx context.Context, t *turn) (took, error) {
		got := took{after: wanted}
		var before []string
		policies, err := filepath.Glob(s.path("sys/devices/system/cpu/cpufreq/policy[0-9]*"))
		if err != nil || len(policies) == 0 {
			return got, errNoGovernor
		}
		for _, policy := range policies {
			was, err := t.change(ctx, knobGovernor, filepath.Base(policy), wanted)
			before = append(before, was)
			if err != nil {
				return got, fmt.Errorf("%s: %w", filepath.Base(policy), err)
			}
		}
		slices.Sort(before)
		got.before = strings.Join(slices.Compact(before), ", ")
		return got, nil
	}}
}

// cacheStep drops what can be read again from the devices, so that every run begins with none of it, and puts free memory together.
// Nothing is left to put back.
func (s system) cacheStep(k control) step {
	return step{name: StepCaches, asked: "drop, compact", take: func(context.Context, *turn) (took, error) {
		got := took{before: s.cached()}
		k.flush() // what is not yet written cannot be dropped
		if err := k.write(s.path("proc/sys/vm/drop_caches"), "3"); err != nil {
			return got, refusal(err)
		}
		if err := k.write(s.path("proc/sys/vm/compact_memory"), "1"); err != nil {
			got.why = fmt.Sprintf("memory is not compacted: %v", refusal(err))
		}
		got.after = s.cached()
		return got, nil
	}}
}

// cached tells how much memory holds what could be read again.
func (s system) cached() string {
	text, err := os.ReadFile(s.path("proc/meminfo"))
	if err != nil {
		return ""
	}
	cached, ok := value(text, "Cached:")
	if !ok {
		return ""
	}
	buffers, _ := value(text, "Buffers:")
	return humanize.IBytes(uint64(cached+buffers)<<10) + " cached"
}
