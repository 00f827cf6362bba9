package measure

import (
	"context"

	"github.com/durabench/durabench/workers/agent"
)

type stirred struct{}

func (s *session) removeInserted(context.Context, agent.Task, uint64) error { return nil }
