package main

import (
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
)

// attribute reads a keyword search attribute of an execution; "" when it is not set.
func attribute(e *workflow.WorkflowExecutionInfo, name string) string {
	payload, ok := e.GetSearchAttributes().GetIndexedFields()[name]
	if !ok {
		return ""
	}
	var text string
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &text); err != nil {
		return ""
	}
	return text
}
