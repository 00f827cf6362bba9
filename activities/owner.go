package activities

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ownerFile is in the working directory of every run and says whose it is.
const ownerFile = "owner.json"

// Owner is the run that a working directory is of. It is there before anything else of the run is on the machine, so that whatever a killed run
// leaves can be found.
type Owner struct {
	Run Run `json:"run"`
	// Temporal names the server that the run's workflow is on, as Machine.Temporal.
	Temporal string `json:"temporal,omitempty"`
}

// writeOwner replaces the file in one step: a reader finds the old one or the new one.
func writeOwner(dir string, owner Owner) error {
	text, err := json.Marshal(owner)
	if err != nil {
		return fmt.Errorf("note whose working directory %s is: %w", dir, err)
	}
	path := filepath.Join(dir, ownerFile)
	err = os.WriteFile(path+".new", text, 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("note whose working directory %s is: %w", dir, err)
	}
	return nil
}

// readOwner returns whose the working directory is; of one that was only just made, or whose file is damaged, all that is known is the id.
func readOwner(dir string) (Owner, error) {
	unknown := Owner{Run: Run{ID: filepath.Base(dir), Dir: dir}}
	text, err := os.ReadFile(filepath.Join(dir, ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	if err != nil {
		return unknown, fmt.Errorf("find out whose working directory %s is: %w", dir, err)
	}
	var owner Owner
	if json.Unmarshal(text, &owner) != nil || owner.Run.ID != unknown.Run.ID {
		return unknown, nil
	}
	owner.Run.Dir = dir
	return owner, nil
}
