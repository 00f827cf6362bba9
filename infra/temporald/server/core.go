package server

import (
	"fmt"
	"maps"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	clusterName = "active"
	storeName   = "sqlite"
	// clusterID is fixed so that a file moved to another machine stays the same
	// cluster.
	clusterID = "6f1c2f5e-6f0b-4d0a-9d43-0e7d3f9a1c01"
)

// endpoints are the settled ports of one server.
type endpoints struct {
	host     string // bound by what clients talk to
	frontend int
	http     int // the frontend's HTTP API, which Nexus callbacks use
	history  int
	matching int
	worker   int
	metrics  int // zero: no endpoint
}

// dynamic are the settings that differ from the server's defaults.
func dynamic(extra map[string]any) dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{
		// The starter, the Web UI and the tests list workflows more often than
		// the ten a second that protect a shared cluster.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key():      true,
		dynamicconfig.NamespaceCacheRefreshInterval.Key():                namespaceRefresh,
		// The check asks a server on the internet for the newest version.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
	for k, v := range extra {
		values[dynamicconfig.MakeKey(k)] = v
	}
	return maps.Clone(values)
}

// newCore assembles the four services of a Temporal server over one SQLite file.
func newCore(o Options, e endpoints, logger logAdapter) (temporal.Server, error) {
	frontend := hostPort(reachable(e.host), e.frontend)
	conf := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:    storeName,
			VisibilityStore: storeName,
			// More shards buy nothing over a file with one writer.
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{storeName: {SQL: storeConfig(o.DB)}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
				Enabled:                true,
				InitialFailoverVersion: 1,
				RPCAddress:             frontend,
				HTTPAddress:            hostPort(reachable(e.host), e.http),
				ClusterID:              clusterID,
			}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
		PublicClient: config.PublicClient{HostPort: frontend},
		Services: map[string]config.Service{
			string(primitives.FrontendService): {RPC: config.RPC{GRPCPort: e.frontend, HTTPPort: e.http, BindOnIP: e.host}},
			string(primitives.HistoryService):  {RPC: config.RPC{GRPCPort: e.history, BindOnIP: loopback}},
			string(primitives.MatchingService): {RPC: config.RPC{GRPCPort: e.matching, BindOnIP: loopback}},
			string(primitives.WorkerService):   {RPC: config.RPC{GRPCPort: e.worker, BindOnIP: loopback}},
		},
	}
	conf.Global.Membership.MaxJoinDuration = 30 * time.Second
	conf.Global.Membership.BroadcastAddress = loopback
	if e.metrics != 0 {
		conf.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{
			ListenAddress: hostPort(e.host, e.metrics),
			HandlerPath:   "/metrics",
		}}
	}

	hosts := make(map[primitives.ServiceName]static.Hosts, len(conf.Services))
	for name, svc := range conf.Services {
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(hostPort(reachable(svc.RPC.BindOnIP), svc.RPC.GRPCPort))
	}
	authorizer, err := authorization.GetAuthorizerFromConfig(&conf.Global.Authorization)
	if err != nil {
		return nil, fmt.Errorf("configure authorizer: %w", err)
	}
	claims, err := authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, logger)
	if err != nil {
		return nil, fmt.Errorf("configure claim mapper: %w", err)
	}
	return temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamic(o.Dynamic)),
	)
}
