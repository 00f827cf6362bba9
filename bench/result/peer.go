package result

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// peerNames are the names that crud-bench gives to the rows of its table, so that old tables can be laid beside new ones. They are made of
// the spec, which has the names of scans and runs as they stand in the file.
type peerNames struct {
	doc   *Document // that names are of
	names map[string]string
}

// of returns the name of a leg, "" for one that crud-bench has no name for.
func (p *peerNames) of(d *Document, l *Leg) string {
	if p.doc != d {
		p.doc, p.names = d, peersOf(d.Spec)
	}
	if name, ok := p.names[l.ID]; ok {
		return name
	}
	if l.Batch != nil {
		return fmt.Sprintf("[B]atch::%s (%d batches of %d)", strings.TrimPrefix(l.ID, "batch/"), l.Planned, l.Batch.Size)
	}
	return ""
}

// peersOf returns the names of the legs of a spec's scans by their ids.
func peersOf(spec json.RawMessage) map[string]string {
	var file struct {
		Scans []struct {
			ID   string
			Runs []struct {
				Name, Word string
				Samples    int64
				Timing     *struct{ Window string }
			}
			Writes []float64
		}
	}
	if json.Unmarshal(spec, &file) != nil {
		return nil // and there are no names then: the spec is of another version
	}
	names := map[string]string{}
	for _, scan := range file.Scans {
		for _, run := range scan.Runs {
			work := strconv.FormatInt(run.Samples, 10)
			if run.Timing != nil {
				work = seconds(run.Timing.Window)
			}
			for context, word := range map[string]string{"heap": "no-index", "indexed": "indexed"} {
				leg := fmt.Sprintf("scan/%s/%s/%s", scan.ID, run.Word, context)
				row := fmt.Sprintf("[S]can · %s · %s - reads%%s - %s (%s)", escape(scan.ID), escape(run.Name), word, work)
				names[leg+"/read"] = fmt.Sprintf(row, "")
				for _, ratio := range scan.Writes {
					share := strconv.FormatFloat(math.Round(1e5*ratio)/1e3, 'f', -1, 64) // as ids of legs have it
					names[leg+"/write-"+share] = fmt.Sprintf(row, "+writes ("+share+"%)")
				}
			}
			index := fmt.Sprintf("index/%s/%s/", scan.ID, run.Word)
			names[index+"build"] = fmt.Sprintf("[I]ndex · %s · build", scan.ID)
			names[index+"drop"] = fmt.Sprintf("[R]emoveIndex · %s", scan.ID)
		}
	}
	return names
}

// escape keeps text as it is in a format.
func escape(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// seconds writes a window as crud-bench does: "30s".
func seconds(window string) string {
	d, err := time.ParseDuration(window)
	if err != nil {
		return window
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
