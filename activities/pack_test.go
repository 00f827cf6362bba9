package activities

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/spec"
)

// planOf is a plan of so many steps, whose titles are as long.
func planOf(steps, length int) *plan.Plan {
	p := &plan.Plan{}
	for i := range steps {
		p.Steps = append(p.Steps, plan.Step{ID: fmt.Sprintf("scan/%d/read", i), Title: strings.Repeat("a", length)})
	}
	return p
}

// noise is a text that cannot be made smaller by much.
func noise(length int) string {
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, length)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[random.IntN(64)]
	}
	return string(text)
}

func TestLargeValuesTravelPackedAndSmallOnesPlain(t *testing.T) {
	type plain PlannedCell
	for name, test := range map[string]struct {
		cell  PlannedCell
		small bool
	}{
		"small": {PlannedCell{Spec: &spec.Spec{Database: "map"}, Plan: planOf(3, 10)}, true},
		"skip":  {PlannedCell{Skip: "no such engine"}, true},
		"large": {PlannedCell{Spec: &spec.Spec{Database: "map"}, Plan: planOf(3000, 1000)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(test.cell)
			require.NoError(t, err)
			old, err := json.Marshal(plain(test.cell))
			require.NoError(t, err)
			if test.small {
				require.Equal(t, string(old), string(text), "it can be read in the UI")
			} else {
				require.Greater(t, len(old), 2<<20)
				require.Less(t, len(text), MaxPayload)
			}
			for _, form := range [][]byte{text, old} {
				var got PlannedCell
				require.NoError(t, json.Unmarshal(form, &got))
				require.Equal(t, test.cell, got)
			}
		})
	}
}

func TestDamagedPackIsAnError(t *testing.T) {
	text, err := json.Marshal(PlannedCell{Plan: planOf(3000, 1000)})
	require.NoError(t, err)
	var p packed
	require.NoError(t, json.Unmarshal(text, &p))
	for _, bad := range [][]byte{p.Gzip[:len(p.Gzip)/2], []byte("nonsense"), append([]byte{}, p.Gzip[10:]...)} {
		text, err := json.Marshal(packed{bad})
		require.NoError(t, err)
		require.Error(t, json.Unmarshal(text, new(PlannedCell)))
	}
}

func TestPlanThatIsTooLargeIsRefused(t *testing.T) {
	s := &spec.Spec{Database: "map"}
	require.NoError(t, CheckPlan(s, planOf(3000, 1000)), "it is packed")
	require.ErrorContains(t, CheckPlan(s, planOf(1, MaxStep)), "step scan/0/read takes 512 KiB")
	whole := planOf(100, 0)
	text := noise(3 << 20)
	for i := range whole.Steps {
		whole.Steps[i].Title = text[i*len(text)/100 : (i+1)*len(text)/100]
	}
	err := CheckPlan(s, whole)
	require.ErrorContains(t, err, "the spec with its plan of 100 steps takes")
	require.ErrorContains(t, err, "the most is 1.0 MiB")
}
