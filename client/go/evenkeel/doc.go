// Package evenkeel calls an evenkeel-server: deadlines, retries, TLS or unix sockets, and typed errors.
//
//	client, err := evenkeel.New(evenkeel.Options{Address: "127.0.0.1:50051"})
//	...
//	answer, err := client.PlanJob(ctx, &evenkeelv1.PlanJobRequest{Job: job})
//	var refused *evenkeel.Error
//	if errors.As(err, &refused) && refused.Reason == evenkeel.ReasonInvalidRequest {
//		for _, violation := range refused.Violations { ... }
//	}
//
// A job that can not fit is no error: the answer's plan has Misfit set. Messages are those of the contract
// (proto/evenkeel/v1), generated into package evenkeelv1.
package evenkeel
