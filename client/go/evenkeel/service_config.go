package evenkeel

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"
)

// The service config that the project ships for every client (deploy/grpc/service-config.json; a test keeps the copy
// equal): balancing over all addresses, health checking, deadlines, retries of UNAVAILABLE, and their throttling.
//
//go:embed service-config.json
var shippedServiceConfig []byte

// timeouts holds the shipped timeouts, by method of the service; "" for methods that are not named.
type timeouts map[string]time.Duration

func (t timeouts) of(method string) time.Duration {
	if named, ok := t[method]; ok {
		return named
	}
	return t[""]
}

// serviceConfig returns the shipped config with this client's attempts, and its timeouts apart: in gRPC's hands they
// would also shorten deadlines that the caller sets.
func serviceConfig(maxAttempts int) (config string, limits timeouts, err error) {
	var whole map[string]any
	if err := json.Unmarshal(shippedServiceConfig, &whole); err != nil {
		return "", nil, fmt.Errorf("service-config.json: %w", err)
	}
	limits = timeouts{}
	methods, _ := whole["methodConfig"].([]any)
	for _, entry := range methods {
		method := entry.(map[string]any)
		limit := time.Duration(0)
		if text, ok := method["timeout"].(string); ok {
			if limit, err = time.ParseDuration(text); err != nil {
				return "", nil, fmt.Errorf("service-config.json: %w", err)
			}
		}
		delete(method, "timeout")
		names, _ := method["name"].([]any)
		for _, name := range names {
			named, _ := name.(map[string]any)["method"].(string)
			limits[named] = limit
		}
		if retries, ok := method["retryPolicy"].(map[string]any); ok && maxAttempts > 1 {
			retries["maxAttempts"] = maxAttempts
		} else {
			delete(method, "retryPolicy") // gRPC takes 2 attempts at least
		}
	}
	text, err := json.Marshal(whole)
	return string(text), limits, err
}
