package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Retention is how long a namespace created by durabench keeps the history of
// finished workflows.
const Retention = 90 * 24 * time.Hour

// settle is how long a change to a namespace may take to be known to all
// services of a server; they reread the namespaces every few seconds.
const settle = 30 * time.Second

// EnsureNamespace makes sure that the client's namespace exists: it is created
// where that is permitted.
func EnsureNamespace(ctx context.Context, c client.Client, namespace string) error {
	err := probe(ctx, c, namespace, "")
	var missing *serviceerror.NamespaceNotFound
	if err == nil || !errors.As(err, &missing) {
		return wrapUnlessNil(err, "look up namespace %s", namespace)
	}
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        namespace,
		Description:                      "durabench: database benchmarks",
		WorkflowExecutionRetentionPeriod: durationpb.New(Retention),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	switch {
	case err == nil, errors.As(err, &exists):
	case refused(err):
		return fmt.Errorf("namespace %s does not exist and may not be created here (%w); create it, or set %s to one that exists",
			namespace, err, EnvNamespace)
	default:
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	return await(ctx, func() error { return probe(ctx, c, namespace, "") }, "namespace "+namespace)
}

// extendRetention keeps the histories of a namespace that a program other than
// ours has created, which keeps them for a day.
func extendRetention(ctx context.Context, address, namespace string) error {
	c, err := Dial(ctx, Options{Address: address, Namespace: namespace})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: namespace,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(Retention)},
	})
	return wrapUnlessNil(err, "set retention of namespace %s", namespace)
}

// AttributeReport says which search attributes can be used.
type AttributeReport struct {
	// Added were registered now.
	Added []string
	// Missing cannot be used, by name, with the reason. Workflows leave them out.
	Missing map[string]string
}

// EnsureSearchAttributes makes sure that the namespace has the search attributes
// durabench sets. Where they may not be added (as on Temporal Cloud, whose
// attributes are made with its own tools) the report says which are missing; it
// is an error only when the server cannot be asked at all.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) (AttributeReport, error) {
	report := AttributeReport{Missing: map[string]string{}}
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if refused(err) {
		return report, probeAttributes(ctx, c, namespace, report.Missing, err)
	}
	if err != nil {
		return report, fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	absent := map[string]enumspb.IndexedValueType{}
	for name, want := range Attributes() {
		switch got, ok := have.GetCustomAttributes()[name]; {
		case !ok:
			absent[name] = want
		case got != want:
			report.Missing[name] = fmt.Sprintf("it exists with type %s, not %s", got, want)
		}
	}
	if len(absent) == 0 {
		return report, nil
	}
	names := slices.Sorted(maps.Keys(absent))
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespace,
		SearchAttributes: absent,
	})
	var full *serviceerror.InvalidArgument
	switch {
	case refused(err), errors.As(err, &full):
		// An invalid argument here is a namespace whose slots are all in use.
		for _, name := range names {
			report.Missing[name] = "it may not be added: " + err.Error()
		}
		return report, nil
	case err != nil && !alreadyExists(err):
		return report, fmt.Errorf("add search attributes %s to namespace %s: %w", strings.Join(names, ", "), namespace, err)
	}
	report.Added = names
	query := "`" + strings.Join(names, "` IS NULL OR `") + "` IS NULL"
	return report, await(ctx, func() error { return probe(ctx, c, namespace, query) }, "search attributes "+strings.Join(names, ", "))
}

// probeAttributes finds out by queries what may not be listed: a query over an
// unknown attribute is an invalid argument.
func probeAttributes(ctx context.Context, c client.Client, namespace string, missing map[string]string, why error) error {
	for _, name := range slices.Sorted(maps.Keys(Attributes())) {
		err := probe(ctx, c, namespace, "`"+name+"` IS NULL")
		var unknown *serviceerror.InvalidArgument
		switch {
		case err == nil:
		case errors.As(err, &unknown):
			missing[name] = "it is not registered and may not be added: " + why.Error()
		default:
			return fmt.Errorf("look up search attribute %s of namespace %s: %w", name, namespace, err)
		}
	}
	return nil
}

// probe asks the visibility store, which needs the namespace and every attribute
// in the query to be known. Names in a query stand in backquotes: "Commit" is a
// word of the query language.
func probe(ctx context.Context, c client.Client, namespace, query string) error {
	_, err := c.WorkflowService().CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query})
	return err
}

// await repeats f until it has no error.
func await(ctx context.Context, f func() error, what string) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to be known: %w", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func wrapUnlessNil(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// refused tells whether the server answered that it does not do this for us.
func refused(err error) bool {
	switch serviceerror.ToStatus(err).Code() {
	case codes.PermissionDenied, codes.Unimplemented, codes.Unauthenticated:
		return true
	}
	return false
}

func unauthenticated(err error) bool { return status.Code(err) == codes.Unauthenticated }

// alreadyExists is the answer when another client added the attributes first.
func alreadyExists(err error) bool {
	var exists *serviceerror.AlreadyExists
	return errors.As(err, &exists) || status.Code(err) == codes.AlreadyExists
}
