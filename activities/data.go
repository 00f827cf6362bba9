package activities

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
)

// publicTemp is where the data of a server lies that must not run as root while we do: our own directories let nobody else pass.
const publicTemp = "/var/tmp"

// keeps tells whether the data of a run outlives it.
func keeps(s spec.Spec) bool { return s.Mode == spec.ModeLoad || s.Mode == spec.ModeQuery }

// dataPath is where a run's embedded engine, or a server of ours, keeps its files. A query run finds there what a load run left.
func dataPath(run Run, engine drivers.Engine) string {
	switch s := run.Spec; {
	case keeps(s) && s.Name != "":
		return filepath.Join(s.DataDir, s.Database+"-"+s.Name)
	case keeps(s):
		return filepath.Join(s.DataDir, s.Database)
	case s.DataDir != "":
		return besideOthers(s.DataDir, run)
	case engine.Server != nil && engine.Server.NotRoot && os.Geteuid() == 0:
		return besideOthers(publicTemp, run)
	default:
		return filepath.Join(run.Dir, "data")
	}
}

// besideOthers is a run's own directory in one that is not ours.
func besideOthers(dir string, run Run) string { return filepath.Join(dir, "durabench-"+run.ID) }

// passingData lists where data of a run may lie that does not outlive it, whatever engine it is of.
func passingData(run Run) []string {
	if keeps(run.Spec) {
		return nil
	}
	dirs := []string{filepath.Join(run.Dir, "data"), besideOthers(publicTemp, run)}
	if run.Spec.DataDir != "" {
		dirs = append(dirs, besideOthers(run.Spec.DataDir, run))
	}
	return dirs
}

// serverDirs lists where a server of the run may be, to stop it even when the attempt that started it did not live to tell.
func serverDirs(run Run) []string {
	if keeps(run.Spec) {
		return []string{dataPath(run, drivers.Engine{})}
	}
	return passingData(run)
}

// serverLog is the log of a server in the directory that infra/process has it in.
func serverLog(dir string) string { return filepath.Join(dir, "server", "server.log") }

// copyTail copies the last part of a file. A file that is not there is none to copy.
func copyTail(to, from string, most int64) (err error) {
	source, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer source.Close()
	if info, err := source.Stat(); err == nil && info.Size() > most {
		if _, err := source.Seek(-most, io.SeekEnd); err != nil {
			return err
		}
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, io.LimitReader(source, most))
	return errors.Join(err, target.Close())
}
