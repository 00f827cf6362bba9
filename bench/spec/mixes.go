package spec

import (
	"fmt"
	"strings"
)

// Defaults of a mix.
const (
	usualTheta      = 0.99 // of zipf and latest, as in YCSB
	usualScanLength = 100
	usualHotRows    = 0.2
	usualHotShare   = 0.8
)

// mixOperations are the operations of a mix, in the order in which their weights are kept.
var mixOperations = []string{MixRead, MixUpdate, MixInsert, MixScan, MixModify}

// takeMixes resolves the mixes of the file.
func (b *builder) takeMixes() {
	if b.skipScans {
		return
	}
	taken := map[string]int{}
	for i, entry := range b.file.Mixes {
		path := fmt.Sprintf("mixes[%d]", i)
		b.checkName(entry.Name, path, taken)
		mix := Mix{Name: entry.Name, Weights: b.weights(entry, path), Distribution: b.distribution(entry, path)}
		mix.Volume = b.volume(entry.Clients, entry.Threads, path, volumeKeys{
			path: path, iterations: entry.Iterations, measure: entry.Measure, warmup: entry.Warmup, least: entry.Least, most: entry.Most,
			rate: entry.Rate, arrival: entry.Arrival,
		})
		b.Mixes = append(b.Mixes, mix)
	}
}

// checkName checks the name of an entry whose leg's id is made of it.
func (b *builder) checkName(name, path string, taken map[string]int) {
	if name == "" {
		return // and known to be a problem
	}
	if !ids.MatchString(name) {
		b.fileProblem(path+".name", "%q: use letters, digits, underscores and dashes, at most 100, a letter or digit first", name)
	} else if line, twice := taken[name]; twice {
		b.fileProblem(path+".name", "%q is taken on line %d: the ids of their legs could not be told apart", name, line)
	}
	taken[name] = b.file.lines.of(path + ".name")
}

// weights resolves how often each operation is drawn.
func (b *builder) weights(entry MixEntry, path string) []Weight {
	for _, name := range sortedKeys(entry.Weights) {
		at := join(path+".weights", name)
		if _, err := oneOf(name, mixOperations...); err != nil {
			b.fileProblem(at, "is no operation of a mix: they are %s%s", strings.Join(mixOperations, ", "), didYouMean(name, mixOperations))
		} else if weight := entry.Weights[name]; !(weight >= 0 && weight <= 1e9) {
			b.fileProblem(at, "must not be negative, is %g", weight)
		}
	}
	var weights []Weight
	scans := false
	for _, name := range mixOperations {
		weight := Weight{Operation: name, Weight: entry.Weights[name]}
		if weight.Weight == 0 {
			continue
		}
		if name == MixScan {
			scans, weight.Length = true, usualScanLength
			if entry.ScanLength != nil {
				weight.Length = *entry.ScanLength
			}
			if weight.Length < 1 {
				b.fileProblem(path+".scan_length", "must be at least 1, is %d", weight.Length)
			}
		}
		weights = append(weights, weight)
	}
	if len(weights) == 0 {
		b.fileProblem(path, `has no weights, e.g. weights = { read = 95, update = 5 }`)
	}
	if entry.ScanLength != nil && !scans {
		b.fileProblem(path+".scan_length", "is the length of scans, and the mix has none")
	}
	return weights
}

// distribution resolves how rows are drawn.
func (b *builder) distribution(entry MixEntry, path string) Distribution {
	d := Distribution{Name: Uniform}
	if entry.Distribution != "" {
		name, err := oneOf(entry.Distribution, Uniform, Zipf, Latest, Hotspot)
		if err != nil {
			b.fileProblem(path+".distribution", "%v", err)
			return d
		}
		d.Name = name
	}
	for _, knob := range []struct {
		key    string
		given  *float64
		usual  float64
		of     []string
		target *float64
	}{
		{"theta", entry.Theta, usualTheta, []string{Zipf, Latest}, &d.Theta},
		{"hot_rows", entry.HotRows, usualHotRows, []string{Hotspot}, &d.HotRows},
		{"hot_operations", entry.HotOperations, usualHotShare, []string{Hotspot}, &d.HotOperations},
	} {
		at := path + "." + knob.key
		fits := false
		for _, name := range knob.of {
			fits = fits || name == d.Name
		}
		switch {
		case !fits && knob.given != nil:
			b.fileProblem(at, "belongs to the distribution %s, and this one is %s", strings.Join(knob.of, " or "), d.Name)
		case !fits:
		case knob.given == nil:
			*knob.target = knob.usual
		case knob.key == "theta":
			if *knob.target = *knob.given; !(*knob.given > 0 && *knob.given <= 10) {
				b.fileProblem(at, "must be more than 0 and at most 10, is %g", *knob.given)
			}
		default:
			*knob.target = b.share(*knob.given, at)
		}
	}
	return d
}
