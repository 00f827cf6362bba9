package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/docker/docker/api/types/filters"
)

// Labels of whatever is ours. What does not carry labelOurs and labelRun is never touched.
const (
	labelOurs    = "durabench" // "1"
	labelRun     = "durabench.run"
	labelEngine  = "durabench.engine"
	labelStep    = "durabench.step"
	labelOwner   = "durabench.owner"
	labelImage   = "durabench.image" // its name, as it was asked for
	labelDigest  = "durabench.digest"
	labelCreated = "durabench.created"
	// labelPublished is there when clients are to use the published port.
	labelPublished = "durabench.published"
	// labelKept says why something outlives its run.
	labelKept = "durabench.kept"
)

// The reasons in labelKept.
const (
	keptData    = "data"    // a load left it for queries
	keptFailure = "failure" // to be looked at, should the run fail
)

// labels are what everything of a start carries.
func (o *Options) labels() map[string]string {
	labels := map[string]string{
		labelOurs: "1", labelRun: o.RunID, labelEngine: o.Name, labelImage: o.Image, labelCreated: time.Now().UTC().Format(time.RFC3339),
	}
	if o.Step != "" {
		labels[labelStep] = o.Step
	}
	if o.Owner != "" {
		labels[labelOwner] = o.Owner
	}
	if o.Published {
		labels[labelPublished] = "1"
	}
	if o.KeepOnFailure {
		labels[labelKept] = keptFailure
	}
	return labels
}

// volumeLabels are those of the volume.
func (o *Options) volumeLabels() map[string]string {
	labels := o.labels()
	if o.Volume != "" {
		labels[labelKept] = keptData
	}
	return labels
}

// ours tells whether labels are ours, and whose. A container has its image's labels too, so the one label does not suffice.
func ours(labels map[string]string) (run string, is bool) {
	run = labels[labelRun]
	return run, labels[labelOurs] == "1" && run != ""
}

// oursFilter finds what is ours, and ofRun what is of a run.
func oursFilter() filters.Args { return filters.NewArgs(filters.Arg("label", labelOurs+"=1")) }

func ofRun(run string) filters.Args {
	return filters.NewArgs(filters.Arg("label", labelOurs+"=1"), filters.Arg("label", labelRun+"="+run))
}

// objectName makes a name that the engine takes, and that differs where the parts do. Names are for people, and keep two starts from making two
// containers; whatever is looked for is found by label.
func objectName(parts ...string) string {
	whole := strings.Join(append([]string{"durabench"}, parts...), "-")
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, whole)
	if clean == whole {
		return whole
	}
	hash := sha256.Sum256([]byte(whole))
	return clean + "-" + hex.EncodeToString(hash[:4])
}
