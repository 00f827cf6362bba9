package activities

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/spec"
)

const (
	// packFrom is the size in bytes from which on what travels through workflows is packed. What is smaller stays readable in the Temporal UI.
	packFrom = 16 << 10
	// mostUnpacked bounds what a packed text may come to.
	mostUnpacked = 64 << 20
)

// packed is the form of a value that is large: its JSON, compressed. A Temporal server takes no payload above 2 MB, and plans and cells repeat
// themselves a lot.
type packed struct {
	Gzip []byte `json:"gzip,omitempty"`
}

// Pack is json.Marshal for what travels through workflows and may be large. The types that it is for call it in their MarshalJSON, and Unpack in
// their UnmarshalJSON, with a type of the same fields and no methods.
func Pack(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil || len(text) < packFrom {
		return text, err
	}
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("pack %T: %w", value, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack %T: %w", value, err)
	}
	return json.Marshal(packed{Gzip: small.Bytes()})
}

// Unpack reads what Pack has made, and plain JSON: small values, and all of those of earlier builds.
func Unpack(text []byte, value any) error {
	var p packed
	if err := json.Unmarshal(text, &p); err != nil || p.Gzip == nil {
		return json.Unmarshal(text, value)
	}
	r, err := gzip.NewReader(bytes.NewReader(p.Gzip))
	if err != nil {
		return fmt.Errorf("unpack %T: %w", value, err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, mostUnpacked+1))
	switch {
	case err != nil:
		return fmt.Errorf("unpack %T: %w", value, err)
	case len(plain) > mostUnpacked:
		return fmt.Errorf("unpack %T: it takes more than %d MiB", value, mostUnpacked>>20)
	}
	return json.Unmarshal(plain, value)
}

const (
	// MaxPayload bounds in bytes what a workflow is given, as it travels. A Temporal server takes twice that: what a run comes to is put beside it.
	MaxPayload = 1 << 20
	// MaxStep bounds a step of a plan, which travels by itself.
	MaxStep = 512 << 10
)

// CheckSize tells that a value is too large to be given to a workflow.
func CheckSize(what string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if len(text) > MaxPayload {
		return fmt.Errorf("%s takes %s as it travels through Temporal, and the most is %s: make several of it",
			what, humanize.IBytes(uint64(len(text))), humanize.IBytes(MaxPayload))
	}
	return nil
}

// CheckPlan tells that a spec and its plan are too large for a run.
func CheckPlan(s *spec.Spec, p *plan.Plan) error {
	for _, step := range p.Steps {
		text, err := json.Marshal(step)
		if err != nil {
			return fmt.Errorf("step %s: %w", step.ID, err)
		}
		if len(text) > MaxStep {
			return fmt.Errorf("step %s takes %s, and the most is %s: make its scans, batches and conditions shorter",
				step.ID, humanize.IBytes(uint64(len(text))), humanize.IBytes(MaxStep))
		}
	}
	return CheckSize(fmt.Sprintf("the spec with its plan of %d steps", len(p.Steps)), PlannedCell{Spec: s, Plan: p})
}
