package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// The flags of swapon(2) in linux/swap.h.
const (
	swapPrefer       = 0x8000 // the low bits are the priority
	swapDiscard      = 0x10000
	swapDiscardOnce  = 0x20000
	swapDiscardPages = 0x40000
)

// swap is the knob of swap space. An object is a device or file; its value is "off", or "on" with what swapon has to be told to get it
// back: "on priority=5 discard=once". A priority that the kernel chose itself is not in it: it depends on the order alone.
type swap struct {
	system
	kernel control
}

// swapArea is a line of /proc/swaps.
type swapArea struct {
	path       string
	size, used int64 // bytes
	priority   int
}

// swapAreas returns what is in use as swap space, in the order in which it has to be turned off so that turning it on in reverse order
// gives each its rank again: the kernel ranks areas without a priority of their own by when they came.
func (s system) swapAreas() ([]swapArea, error) {
	text, err := os.ReadFile(s.path("proc/swaps"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the kernel knows no swap space
	}
	if err != nil {
		return nil, err
	}
	var areas []swapArea
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines[1:] { // behind the title
		words := strings.Fields(line)
		if len(words) < 5 {
			return nil, fmt.Errorf("/proc/swaps: line %q has not 5 columns", line)
		}
		area := swapArea{path: unescape(words[0])}
		for i, to := range map[int]*int64{2: &area.size, 3: &area.used} {
			kib, err := strconv.ParseInt(words[i], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("/proc/swaps: %w", err)
			}
			*to = kib << 10
		}
		if area.priority, err = strconv.Atoi(words[4]); err != nil {
			return nil, fmt.Errorf("/proc/swaps: %w", err)
		}
		areas = append(areas, area)
	}
	slices.SortStableFunc(areas, func(a, b swapArea) int { return a.priority - b.priority })
	return areas, nil
}

func (s swap) read(_ context.Context, object string) (string, error) {
	areas, err := s.swapAreas()
	if err != nil {
		return "", err
	}
	for _, area := range areas {
		if area.path == object {
			words := []string{"on"}
			if area.priority >= 0 {
				words = append(words, fmt.Sprintf("priority=%d", area.priority))
			}
			return strings.Join(append(words, s.discards(object)...), " "), nil
		}
	}
	return "off", nil
}

func (s swap) write(_ context.Context, object, value string) error {
	if value == "off" {
		err := s.kernel.swapoff(object)
		if errors.Is(err, unix.EPERM) {
			return refusal(err)
		}
		return err
	}
	words := strings.Fields(value)
	if len(words) == 0 || words[0] != "on" {
		return fmt.Errorf("%q is no value of swap space", value)
	}
	flags := 0
	for _, word := range words[1:] {
		switch name, argument, _ := strings.Cut(word, "="); {
		case name == "priority":
			n, err := strconv.Atoi(argument)
			if err != nil || n < 0 || n > 0x7fff {
				return fmt.Errorf("%q is no value of swap space", value)
			}
			flags |= swapPrefer | n
		case word == "discard":
			flags |= swapDiscard
		case word == "discard=once":
			flags |= swapDiscard | swapDiscardOnce
		case word == "discard=pages":
			flags |= swapDiscard | swapDiscardPages
		}
	}
	err := s.kernel.swapon(object, flags)
	if errors.Is(err, unix.EBUSY) {
		return nil // it is on
	}
	return refusal(err)
}

// discards returns the discard option that fstab has for a swap area. The kernel does not tell which one is in force.
func (s system) discards(object string) []string {
	file, err := os.Open(s.path("etc/fstab"))
	if err != nil {
		return nil
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 4 || words[2] != "swap" || s.device(words[0]) != object {
			continue
		}
		for _, option := range strings.Split(words[3], ",") {
			if option == "discard" || strings.HasPrefix(option, "discard=") {
				return []string{option}
			}
		}
	}
	return nil
}

// device returns the path of what fstab names by path, UUID or label.
func (s system) device(name string) string {
	for prefix, dir := range map[string]string{
		"UUID=": "by-uuid", "LABEL=": "by-label", "PARTUUID=": "by-partuuid", "PARTLABEL=": "by-partlabel",
	} {
		if id, ok := strings.CutPrefix(name, prefix); ok {
			name = filepath.Join("/dev/disk", dir, strings.Trim(id, `"`))
		}
	}
	link, err := os.Readlink(s.path(name))
	if err != nil {
		return unescape(name)
	}
	if !filepath.IsAbs(link) {
		link = filepath.Join(filepath.Dir(name), link)
	}
	return link
}

// swapSpare is how much memory must stay free beside what comes back from swap space.
const swapSpare = 256 << 20

func (s system) swapStep() step {
	return step{name: StepSwap, asked: "off", take: func(ctx context.Context, t *turn) (took, error) {
		got := took{after: "off"}
		areas, err := s.swapAreas()
		if err != nil {
			return got, err
		}
		if len(areas) == 0 {
			got.before = "off"
			return got, nil
		}
		var used int64
		names := make([]string, len(areas))
		for i, area := range areas {
			used += area.used
			names[i] = fmt.Sprintf("%s (%s)", area.path, humanize.IBytes(uint64(area.size)))
		}
		got.before = strings.Join(names, ", ")
		text, err := os.ReadFile(s.path("proc/meminfo"))
		if err != nil {
			return got, err
		}
		available, ok := value(text, "MemAvailable:")
		if free := available << 10; !ok || free < used+swapSpare {
			return got, fmt.Errorf("%s are swapped out and only %s of memory are available to take them in: end what uses so much memory",
				humanize.IBytes(uint64(used)), humanize.IBytes(uint64(max(free, 0))))
		}
		for _, area := range areas {
			if _, err := os.Lstat(s.path(area.path)); err != nil {
				return got, fmt.Errorf("%s could not be turned on again: %w", area.path, err) // its file was deleted
			}
		}
		for _, area := range areas {
			if _, err := t.change(ctx, knobSwap, area.path, "off"); err != nil {
				return got, fmt.Errorf("%s: %w", area.path, err)
			}
		}
		return got, nil
	}}
}
