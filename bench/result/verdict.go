package result

// Proof says what must be known before a leg's answers count as right.
type Proof struct {
	Content bool // at least one answer must have been compared with what was written
	Count   bool // the rows after the leg must have been counted and be as many as there must be
}

// ProofOf returns the proof that a kind of leg needs: a read proves itself by content, a create and an update by a row count and reads
// of a sample after the leg, a delete by the row count alone. Kinds it does not know need none, and are unverified.
func ProofOf(kind string) Proof {
	switch kind {
	case "read":
		return Proof{Content: true}
	case "create", "update":
		return Proof{Content: true, Count: true}
	case "delete":
		return Proof{Count: true}
	}
	return Proof{}
}

// Facts is everything a leg's verdict follows from.
type Facts struct {
	Planned   int64     // operations asked for; 0 in a windowed leg
	InFlight  int       // clients × threads
	Measured  *Measured // nil when the leg came to nothing
	Cancelled bool      // the leg was told to stop before its end
	Error     string    // why the leg as a whole failed, when it is not the operations' errors
	Proof     Proof     // what the answers need to count as right
	VerifyOff bool      // the user asked for no verification
	// Calibrates tells that the harness itself is what is measured (the dry engine): it cannot be limited by itself.
	Calibrates bool
	// Embedded tells that the database runs inside the agent, so that the agent's CPU use says nothing about who the limit was.
	Embedded    bool
	AgentCPUs   float64      // CPU cores the agent may use; 0 when not known
	ServerCPUs  float64      // CPU cores the server may use; 0 when not known
	Calibration *Calibration // nil when it was not measured
}

// VerdictOf judges a leg from its facts and says why in plain words; the reason of a valid leg is empty or a remark.
func VerdictOf(f Facts) (Verdict, string) { panic("not yet") }

// Worst returns the verdict of a run from its legs'.
func Worst(legs []Leg) Verdict { panic("not yet") }
