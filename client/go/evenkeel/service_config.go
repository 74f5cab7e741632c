package evenkeel

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// The service config that the project ships for every client (deploy/grpc/service-config.json; a test keeps the copy
// equal): balancing over all addresses, health checking, retries of UNAVAILABLE, and their throttling.
//
//go:embed service-config.json
var shippedServiceConfig []byte

// serviceConfig is the shipped one with this client's attempts. Its timeout is left out: it would cut uploads of
// PackDataset off too; unary calls get theirs from Options.Timeout.
func serviceConfig(maxAttempts int) (string, error) {
	var config map[string]any
	if err := json.Unmarshal(shippedServiceConfig, &config); err != nil {
		return "", fmt.Errorf("service-config.json: %w", err)
	}
	for _, entry := range config["methodConfig"].([]any) {
		method := entry.(map[string]any)
		delete(method, "timeout")
		if maxAttempts == 1 {
			delete(method, "retryPolicy") // gRPC takes 2 at least
			continue
		}
		method["retryPolicy"].(map[string]any)["maxAttempts"] = maxAttempts
	}
	text, err := json.Marshal(config)
	return string(text), err
}
