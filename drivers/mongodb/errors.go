package mongodb

import (
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/durabench/durabench/drivers"
)

// Error codes of the server.
var (
	conflictCodes   = []int{112, 117, 24, 251}                            // write conflict, conflicting operation, lock timeout, no such transaction
	timeoutCodes    = []int{50, 262, 64}                                  // time limit, time limit of a transaction, write concern failed in time
	connectionCodes = []int{6, 7, 89, 91, 189, 9001, 10107, 11600, 11602} // host gone, network, shutdown, no longer the primary, interrupted by a shutdown
)

// classify gives an error its class. The contexts' errors come through as they are.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var server mongo.ServerError
	switch {
	case errors.Is(err, mongo.ErrClientDisconnected):
		return fmt.Errorf("%w: %w", drivers.ErrClosed, err)
	case errors.As(err, &server):
		for codes, class := range map[*[]int]drivers.ErrorClass{
			&conflictCodes: drivers.ClassConflict, &timeoutCodes: drivers.ClassTimeout, &connectionCodes: drivers.ClassConnection,
		} {
			if slices.ContainsFunc(*codes, server.HasErrorCode) {
				return drivers.Classify(class, err)
			}
		}
		if server.HasErrorLabel("NetworkError") {
			return drivers.Classify(networkClass(err), err)
		}
	case mongo.IsNetworkError(err):
		return drivers.Classify(networkClass(err), err)
	}
	return err
}

// networkClass tells a connection that was lost from one that was closed because the caller did not want to wait any longer.
func networkClass(err error) drivers.ErrorClass {
	if class := drivers.ErrorClassOf(err); class == drivers.ClassCancelled || class == drivers.ClassTimeout {
		return class
	}
	return drivers.ClassConnection
}

// explain says where a connection was tried, what came back and what to do. No credentials are in it.
func (d *database) explain(err error) error {
	advice := ""
	var command mongo.CommandError
	switch {
	case errors.As(err, &command) && (command.Code == 18 || command.Code == 13):
		advice = "; check the user and the password, and the database that they belong to (authSource)"
	case mongo.IsTimeout(err), mongo.IsNetworkError(err):
		advice = "; check that the server runs and listens there"
	}
	return fmt.Errorf("connect to MongoDB at %s: %w%s", d.address, classify(err), advice)
}
