package result

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
)

// heading returns the block above the table: pairs of a word and what is to be known.
func (l *layout) heading() [][2]string {
	d := l.doc
	harness := strings.TrimSpace("durabench "+d.Harness.Version) + ", own cost not measured"
	if c := d.Calibration; c != nil {
		harness = fmt.Sprintf("durabench %s, own cost %s ns per operation (dry run)", d.Harness.Version, figure(c.NsPerOp))
	}
	verdict := string(d.Run.Verdict)
	if d.Run.Why != "" {
		verdict += ": " + d.Run.Why
	}
	work := fmt.Sprintf("%d clients × %d threads, %s rows, %s keys, seed %d", d.Engine.Clients, d.Engine.Threads, comma(d.Corpus.Rows), d.Corpus.Key, d.Corpus.Seed)
	pairs := [][2]string{{"run", d.Run.ID}, {"engine", engineText(d.Engine)}, {"load", work}, {"host", hostText(d.Host)}, {"harness", harness}, {"verdict", verdict}}
	if text := isolationText(d.Isolation, d.Engine.Server); text != "" {
		pairs = slices.Insert(pairs, len(pairs)-2, [2]string{"isolation", text})
	}
	for i := range pairs {
		pairs[i][1] = oneLine(pairs[i][1])
	}
	return pairs
}

// isolationText tells what of the isolation that was asked for was not to be had: "standard, refused: governor, quiet; agent and server share CPUs".
// The reasons are in the document. It is empty when nothing was recorded of it.
func isolationText(i *Isolation, server string) string {
	if i == nil {
		return ""
	}
	text := i.Level
	var refused []string
	for _, step := range i.Steps {
		if step.State == StepRefused {
			refused = append(refused, step.Name)
		}
	}
	if len(refused) > 0 {
		text += ", refused: " + strings.Join(refused, ", ")
	}
	if i.SharedCPUs && server != "embedded" { // there it cannot be otherwise
		text += "; agent and server share CPUs"
	}
	return text
}

func engineText(e Engine) string {
	parts := []string{strings.TrimSpace(e.Title + " " + e.Version)}
	if e.Server != "" {
		parts = append(parts, strings.TrimSpace(e.Server+" "+imageText(e)))
	}
	switch {
	case e.Tier != "" && e.Tier == e.TierAsked:
		parts = append(parts, "durability tier "+e.Tier)
	case e.Tier != "":
		parts = append(parts, fmt.Sprintf("durability tier %s (%s asked for)", e.Tier, e.TierAsked))
	case e.TierAsked != "":
		parts = append(parts, fmt.Sprintf("durability tier %s asked for and not read back", e.TierAsked))
	}
	return strings.Join(parts, ", ")
}

// imageText names a container's image, and the way to it where that costs something.
func imageText(e Engine) string {
	text := e.Image
	if e.ImageDigest != "" {
		text = strings.TrimSpace(fmt.Sprintf("%s (%s)", text, shortDigest(e.ImageDigest)))
	}
	if e.Direct != nil && !*e.Direct {
		text += " through a published port"
	}
	return text
}

// shortDigest is the beginning of a digest, as people compare it: "postgres@sha256:0123…" is "sha256:012345678901".
func shortDigest(digest string) string {
	if _, after, found := strings.Cut(digest, "@"); found {
		digest = after
	}
	algorithm, hex, found := strings.Cut(digest, ":")
	if !found || len(hex) <= 12 {
		return digest
	}
	return algorithm + ":" + hex[:12]
}

func hostText(h Host) string {
	var parts []string
	for _, part := range []string{h.Name, h.CPUModel, strings.Trim(h.OS+"/"+h.Arch, "/")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if h.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d CPUs", h.CPUs))
	}
	if h.MemoryBytes > 0 {
		parts = append(parts, humanize.IBytes(uint64(h.MemoryBytes)))
	}
	if len(parts) == 0 {
		return "not known"
	}
	return strings.Join(parts, ", ")
}
