package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/dataset"
	"github.com/durabench/durabench/bench/query"
)

// DatasetEntry is one table of [datasets] of a workload file, as written. Paths are relative to the file.
type DatasetEntry struct {
	Base     string `toml:"base"`     // the vectors of rows
	Queries  string `toml:"queries"`  // the vectors that searches ask for
	HoldOut  *int64 `toml:"hold_out"` // in place of Queries: so many of the last vectors of Base, which are no rows then
	Truth    string `toml:"truth"`    // per query the numbers of its nearest vectors in Base
	Distance string `toml:"distance"` // by which Truth was made
	SHA256   string `toml:"sha256"`   // of Base
}

// Dataset is a data set of real vectors, resolved. Whoever makes its rows has the same files.
type Dataset struct {
	Base    DataFile  `json:"base"`
	HoldOut int64     `json:"holdOut,omitempty"` // the last vectors of Base that are queries and no rows
	Queries *DataFile `json:"queries,omitempty"`
	// Truth is what others found to be the nearest vectors of the queries among all of Base, by Distance.
	Truth    *DataFile    `json:"truth,omitempty"`
	Distance query.Metric `json:"distance,omitempty"`
}

// DataFile is a file and what is in it.
type DataFile struct {
	Path       string `json:"path"` // absolute
	SHA256     string `json:"sha256"`
	Vectors    int64  `json:"vectors"`
	Dimensions int    `json:"dimensions"`
}

// files are the data set's files, by their keys.
func (d Dataset) files() map[string]DataFile {
	all := map[string]DataFile{"base": d.Base}
	if d.Queries != nil {
		all["queries"] = *d.Queries
	}
	if d.Truth != nil {
		all["truth"] = *d.Truth
	}
	return all
}

// Rows returns how many rows the data set has vectors for.
func (d Dataset) Rows() int64 { return d.Base.Vectors - d.HoldOut }

// queryCount returns how many query vectors there are.
func (d Dataset) queryCount() int64 {
	if d.Queries != nil {
		return d.Queries.Vectors
	}
	return d.HoldOut
}

// Open maps the file and makes sure, by its length and head, that it may be the one that is meant. CheckDatasets looks at its content.
func (f DataFile) Open() (*dataset.File, error) {
	open, err := dataset.Open(f.Path)
	if err != nil {
		return nil, err
	}
	if int64(open.Len()) != f.Vectors || open.Dim() != f.Dimensions {
		return nil, fmt.Errorf("vectors in %s: there are %d of %d components, the run is of %d of %d", f.Path, open.Len(), open.Dim(), f.Vectors, f.Dimensions)
	}
	return open, nil
}

// data opens the data sets for rows to be made of.
func (s *Spec) data() (map[string]corpus.Data, error) {
	all := map[string]corpus.Data{}
	for name, d := range s.Datasets {
		base, err := d.Base.Open()
		if err != nil {
			return nil, fmt.Errorf("data set %s: %w", name, err)
		}
		rows := uint64(d.Rows())
		made := corpus.Data{Digest: d.Base.SHA256, Vectors: dataset.Part{File: base, Count: rows}, Rows: uint64(s.Samples)}
		switch {
		case d.Queries != nil:
			if made.Queries, err = d.Queries.Open(); err != nil {
				return nil, fmt.Errorf("data set %s: %w", name, err)
			}
		case d.HoldOut > 0:
			made.Queries = dataset.Part{File: base, From: rows, Count: uint64(d.HoldOut)}
		}
		all[name] = made
	}
	return all, nil
}

// CheckDatasets makes sure that this machine has the files of the spec's data sets with the content that the spec is of. What was found of a file is
// remembered in the directory cache, "" for nowhere.
func (s *Spec) CheckDatasets(cache string) error {
	var problems []error
	for _, name := range sortedKeys(s.Datasets) {
		files := s.Datasets[name].files()
		for _, key := range sortedKeys(files) {
			file := files[key]
			found, err := dataset.Check(file.Path, cache)
			if err == nil && found.SHA256 != file.SHA256 {
				err = fmt.Errorf("vectors in %s: this machine has a file with the SHA-256 %s, the run is of one with %s: copy that here", file.Path, found.SHA256, file.SHA256)
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("data set %s, %s: %w", name, key, err))
			}
		}
	}
	return errors.Join(problems...)
}

// DataFiles are the open files of a spec's data sets.
type DataFiles []*dataset.File

// Unchanged returns an error when one of the files is not what it was when it was opened.
func (files DataFiles) Unchanged() error {
	for _, file := range files {
		if err := file.Unchanged(); err != nil {
			return err
		}
	}
	return nil
}

// Warm reads the files, so that as much of them as there is room for is in the memory of the machine when rows are made.
func (files DataFiles) Warm() {
	for _, file := range files {
		file.Warm()
	}
}

// OpenDatasets opens the files of the spec's data sets.
func (s *Spec) OpenDatasets() (DataFiles, error) {
	var open DataFiles
	for _, name := range sortedKeys(s.Datasets) {
		files := s.Datasets[name].files()
		for _, key := range sortedKeys(files) {
			file, err := files[key].Open()
			if err != nil {
				return nil, fmt.Errorf("data set %s, %s: %w", name, key, err)
			}
			open = append(open, file)
		}
	}
	return open, nil
}

// takeDatasets finds the data sets that columns have their vectors of and looks at their files.
func (b *builder) takeDatasets() {
	if b.file.unread {
		return
	}
	used := map[string]bool{}
	if b.template != nil {
		b.dataColumns("value", b.template.Columns(), used)
	}
	for _, name := range sortedKeys(b.file.Datasets) {
		path := join("datasets", name)
		switch {
		case !corpus.IsDataName(name):
			b.fileProblem(path, "a data set is named by lower-case letters, digits, _ and -")
		case b.template != nil && !used[name]:
			b.fileProblem(path, "no column has vectors of it, as \"vector:128:data:%s\" would", name)
		default:
			b.dataset(name, path)
		}
	}
	if b.template != nil {
		b.fitDatasets("value", b.template.Columns())
	}
}

// dataColumns notes the data sets that columns name, and refuses those that are not there.
func (b *builder) dataColumns(path string, fields []corpus.Field, used map[string]bool) {
	for i := range fields {
		f := &fields[i]
		at := below(path, f, i)
		if name := f.DataSet(); name != "" {
			used[name] = true
			if _, there := b.file.Datasets[name]; !there && !b.file.hasProblem("datasets") {
				b.fileProblem(at, "there is no [datasets.%s]%s", name, didYouMean(name, sortedKeys(b.file.Datasets)))
			}
		}
		b.dataColumns(at, f.Elems, used)
	}
}

// below is the path of a field, of which it is number i, below another.
func below(path string, f *corpus.Field, i int) string {
	if f.Name == "" {
		return fmt.Sprintf("%s[%d]", path, i)
	}
	return join(path, f.Name)
}

// fitDatasets refuses columns of another dimension than their data set has.
func (b *builder) fitDatasets(path string, fields []corpus.Field) {
	for i := range fields {
		f := &fields[i]
		at := below(path, f, i)
		if d, known := b.Datasets[f.DataSet()]; known && d.Base.Dimensions != f.Dim {
			b.fileProblem(at, "its vectors have %d components, those of data set %s have %d (%s)", f.Dim, f.DataSet(), d.Base.Dimensions, d.Base.Path)
		}
		b.fitDatasets(at, f.Elems)
	}
}

// dataset resolves one data set. It is left out when something is wrong with it.
func (b *builder) dataset(name, path string) {
	entry, before := b.file.Datasets[name], len(b.problems)
	var d Dataset
	base, ok := b.dataFile(entry.Base, path+".base", false)
	if !ok {
		return
	}
	d.Base = base.DataFile
	if wanted := strings.ToLower(entry.SHA256); wanted != "" && wanted != base.SHA256 {
		b.fileProblem(path+".sha256", "%s has the SHA-256 %s", base.Path, base.SHA256)
	}
	b.dataQueries(&d, entry, path)
	b.dataTruth(&d, entry, path)
	rows := d.Rows()
	switch {
	case rows < 2:
		b.fileProblem(path+".base", "%s has %d vectors for rows: wanted are 2 at least, so that an update changes a row's", base.Path, rows)
	case !b.bad["samples"] && b.Samples > rows:
		held := ""
		if d.HoldOut > 0 {
			held = fmt.Sprintf(" that are left of %d when %d are held out", d.Base.Vectors, d.HoldOut)
		}
		b.problem("samples", "%d rows are more than the %d vectors of data set %s%s (%s)", b.Samples, rows, name, held, base.Path)
	}
	if len(b.problems) > before {
		return
	}
	if b.Datasets == nil {
		b.Datasets = map[string]Dataset{}
	}
	b.Datasets[name] = d
}

// dataQueries takes the query vectors of a data set.
func (b *builder) dataQueries(d *Dataset, entry DatasetEntry, path string) {
	if n := entry.HoldOut; n != nil {
		switch {
		case entry.Queries != "":
			b.fileProblem(path+".hold_out", "does not go with queries: searches ask for one or the other")
		case *n < 1 || *n >= d.Base.Vectors:
			b.fileProblem(path+".hold_out", "must be from 1 to less than the %d vectors of %s, is %d", d.Base.Vectors, d.Base.Path, *n)
		default:
			d.HoldOut = *n
		}
	}
	if entry.Queries == "" {
		return
	}
	queries, ok := b.dataFile(entry.Queries, path+".queries", false)
	if !ok {
		return
	}
	if queries.Dimensions != d.Base.Dimensions {
		b.fileProblem(path+".queries", "the vectors of %s have %d components, those of %s have %d", queries.Path, queries.Dimensions, d.Base.Path, d.Base.Dimensions)
		return
	}
	d.Queries = &queries.DataFile
}

// dataTruth takes what others found to be the nearest.
func (b *builder) dataTruth(d *Dataset, entry DatasetEntry, path string) {
	if entry.Distance != "" {
		if entry.Truth == "" {
			b.fileProblem(path+".distance", "is that of a truth, and none is given")
		}
		d.Distance = b.metric(entry.Distance, path)
	}
	if entry.Truth == "" {
		return
	}
	if entry.Distance == "" {
		b.fileProblem(path+".truth", "by which distance? its file does not say, e.g. distance = \"euclidean\"")
	}
	if entry.Queries == "" {
		b.fileProblem(path+".truth", "of which queries? they are a file of their own, queries = …")
	}
	truth, ok := b.dataFile(entry.Truth, path+".truth", true)
	if !ok {
		return
	}
	switch {
	case d.Queries != nil && truth.Vectors != d.Queries.Vectors:
		b.fileProblem(path+".truth", "%s has the neighbours of %d queries, and %s has %d", truth.Path, truth.Vectors, d.Queries.Path, d.Queries.Vectors)
	case truth.least < 0 || truth.most >= d.Base.Vectors:
		b.fileProblem(path+".truth", "%s has the numbers %d to %d, and the vectors of %s are 0 to %d", truth.Path, truth.least, truth.most, d.Base.Path, d.Base.Vectors-1)
	default:
		d.Truth = &truth.DataFile
	}
}

// checkedFile is a file and what else was found in it.
type checkedFile struct {
	DataFile
	least, most int64
}

// dataFile looks at a file: whole numbers are numbers of vectors, which is what a truth has and nothing else.
func (b *builder) dataFile(path, key string, whole bool) (checkedFile, bool) {
	if path == "" {
		b.fileProblem(key, "which file? a path, relative to this file")
		return checkedFile{}, false
	}
	if !filepath.IsAbs(path) {
		if b.file.folder == "" {
			b.fileProblem(key, "%s: give a path from the root on, as this text does not lie in a folder", path)
			return checkedFile{}, false
		}
		path = filepath.Join(b.file.folder, path)
	}
	path = filepath.Clean(path)
	found, err := dataset.Check(path, b.facts.Cache)
	if err != nil {
		b.fileProblem(key, "%v", err)
		return checkedFile{}, false
	}
	if found.Whole != whole {
		holds := "components: the nearest vectors are given by their numbers, in .ivecs or an .npy of <i4 or <i8"
		if found.Whole {
			holds = "whole numbers of 32 or 64 bits, which are numbers of vectors and no components"
		}
		b.fileProblem(key, "%s holds %s", path, holds)
		return checkedFile{}, false
	}
	file := DataFile{Path: path, SHA256: found.SHA256, Vectors: int64(found.Vectors), Dimensions: found.Dimensions}
	return checkedFile{DataFile: file, least: found.Least, most: found.Most}, true
}

// checkBatchRows refuses batches of more rows than a data set has vectors for.
func (b *builder) checkBatchRows(rows int64, path string) {
	for _, name := range sortedKeys(b.Datasets) {
		if d := b.Datasets[name]; rows > d.Rows() {
			b.fileProblem(path, "its %d rows are more than the %d vectors of data set %s (%s)", rows, d.Rows(), name, d.Base.Path)
		}
	}
}

// dataHoldout takes how many of the query vectors of a column's data set a search asks for: all, unless it says.
func (b *builder) dataHoldout(s *Search, asked *VectorHoldout, name, place string) {
	d, known := b.Datasets[name]
	if !known {
		return // which was said
	}
	there := d.queryCount()
	if there == 0 {
		b.fileProblem(place+".field", "data set %s has no query vectors: give it queries, a file of them, or hold_out, how many of the last vectors of %s are asked for and "+
			"are no rows", name, d.Base.Path)
		return
	}
	s.Holdout = Holdout{Count: int(min(there, mostHoldout))}
	if asked == nil {
		return
	}
	if asked.Seed != nil {
		b.fileProblem(place+".holdout.seed", "has no meaning here: the query vectors are those of data set %s", name)
	}
	if asked.Count != nil {
		s.Holdout.Count = int(*asked.Count)
		if most := min(there, mostHoldout); *asked.Count < 1 || *asked.Count > most {
			b.fileProblem(place+".holdout.count", "must be from 1 to the %d query vectors of data set %s, is %d", most, name, *asked.Count)
		}
	}
}

// datasetDigests names the content of the spec's data sets.
func (s *Spec) datasetDigests() map[string]string {
	if len(s.Datasets) == 0 {
		return nil
	}
	digests := map[string]string{}
	for name, d := range s.Datasets {
		digests[name] = d.Base.SHA256
		if d.HoldOut > 0 {
			digests[name] += fmt.Sprintf(" without its last %d", d.HoldOut)
		}
	}
	return digests
}

// DatasetOf returns the data set that a column has its vectors of; ok is false when it has none.
func (s *Spec) DatasetOf(t *corpus.Template, field query.Path) (d Dataset, ok bool) {
	column, err := query.Resolve(t, field)
	if err != nil {
		return Dataset{}, false
	}
	d, ok = s.Datasets[column.Field.DataSet()]
	return d, ok
}
