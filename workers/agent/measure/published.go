package measure

import (
	"fmt"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector"
	"github.com/durabench/durabench/workers/agent"
)

// comparePublished holds the neighbours that came with a data set against ours, which alone score. What it came to is in n, for the result: nothing when
// the data set came with none, or with those by another metric.
func (s *session) comparePublished(task agent.Task, n *neighbourhood) error {
	d, ok := s.setup.Spec.DatasetOf(s.corpus.Template(), n.asked.Field)
	if !ok || d.Truth == nil || d.Distance != n.asked.Metric {
		return nil
	}
	name := filepath.Base(d.Truth.Path)
	if n.problem.Rows != uint64(d.Base.Vectors) {
		n.published = fmt.Sprintf("the neighbours in %s were not compared with ours: they are among all %s vectors, and the run has %s rows", name,
			humanize.Comma(d.Base.Vectors), humanize.Comma(int64(n.problem.Rows)))
		return nil
	}
	file, err := d.Truth.Open()
	if err != nil {
		return &problem{agent.ErrorSpec, err}
	}
	ours, err := n.answer(nil)
	if err != nil {
		return err
	}
	column, err := query.Resolve(s.corpus.Template(), n.asked.Field)
	if err != nil {
		return &problem{agent.ErrorSpec, err}
	}
	task.Say("comparing the neighbours in " + name + " with ours")
	var numbers []int64
	agreement := vector.Agree(n.problem, ours, min(n.asked.K, file.Dim()), func(q int) []int64 {
		numbers = file.Numbers(numbers[:0], uint64(q))
		for i, number := range numbers {
			numbers[i] = -1
			if row, ok := s.corpus.DataRow(column.Field, uint64(number), n.problem.Version); ok {
				numbers[i] = int64(row)
			}
		}
		return numbers
	})
	n.published = describeAgreement(name, agreement)
	if agreement.Differing > 0 {
		n.warnings = append(n.warnings, n.published)
		s.logger.Warn(n.published)
	}
	return nil
}

// describeAgreement says for people how published neighbours agree with ours.
func describeAgreement(name string, a vector.Agreement) string {
	rounding := ""
	if a.Rounding > 0 {
		rounding = fmt.Sprintf(", but for rows of %s queries that single precision cannot tell apart", humanize.Comma(int64(a.Rounding)))
	}
	if a.Differing == 0 {
		return fmt.Sprintf("the nearest %d in %s are ours in all %s queries%s", a.K, name, humanize.Comma(int64(a.Queries)), rounding)
	}
	return fmt.Sprintf("the nearest %d in %s differ from ours in %s of %s queries beyond ties and rounding; the first is query %d, where a share of %.4g is ours. Answers are scored "+
		"by ours: is the file of these vectors and this distance?", a.K, name, humanize.Comma(int64(a.Differing)), humanize.Comma(int64(a.Queries)), a.First, a.Recall)
}
