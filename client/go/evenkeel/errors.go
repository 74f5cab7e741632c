package evenkeel

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Domain of the service's reasons.
const Domain = "evenkeel.dev"

// Reasons that the service gives; docs/ERRORS.md says when, and what to do.
const (
	ReasonMalformedRequest  = "MALFORMED_REQUEST"
	ReasonInvalidRequest    = "INVALID_REQUEST"
	ReasonUnauthenticated   = "UNAUTHENTICATED"
	ReasonMethodNotAllowed  = "METHOD_NOT_ALLOWED"
	ReasonPlanNotFound      = "PLAN_NOT_FOUND"
	ReasonDatasetNotFound   = "DATASET_NOT_FOUND"
	ReasonQueueFull         = "QUEUE_FULL"
	ReasonDeadlineTooShort  = "DEADLINE_TOO_SHORT"
	ReasonPlanTimeLimit     = "PLAN_TIME_LIMIT"
	ReasonProfileNotFound   = "PROFILE_NOT_FOUND"
	ReasonStoreUnavailable  = "STORE_UNAVAILABLE"
	ReasonCalibrationBehind = "CALIBRATION_BEHIND"
	ReasonPackingBusy       = "PACKING_BUSY"
	ReasonUploadTooLarge    = "UPLOAD_TOO_LARGE"
	ReasonStreamStalled     = "STREAM_STALLED"
	ReasonShuttingDown      = "SHUTTING_DOWN"
	ReasonDeadlineExceeded  = "DEADLINE_EXCEEDED"
	ReasonCancelled         = "CANCELLED"
	ReasonPlannerDefect     = "PLANNER_DEFECT"
)

// Violation is one field that the server refused.
type Violation struct {
	// Field is its path in the request, such as "job.cluster.pools[0].gpu_count".
	Field string
	// Description says what is wrong and what would be accepted.
	Description string
}

// Error is a failed call. Decide by Code and Reason, never by Message.
type Error struct {
	// Code of gRPC.
	Code codes.Code
	// Reason, one of Reason...; "" where gRPC itself failed (no server, broken connection, the client's own deadline).
	Reason string
	// Message for a person.
	Message string
	// Metadata: the variable parts of the message.
	Metadata map[string]string
	// Violations: the wrong fields, for ReasonInvalidRequest.
	Violations []Violation
	// RetryDelay: how long to wait before trying again. 0: the server did not say.
	RetryDelay time.Duration
	// Resource that was not found, for the NOT_FOUND reasons.
	Resource string
	// Preconditions that failed, for ReasonCalibrationBehind.
	Preconditions []string
	// RequestID that the server logs this call under. "": it never got there.
	RequestID string

	status *status.Status
}

// Error returns the code, the reason and the message, and every violation.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("evenkeel: " + e.Code.String())
	if e.Reason != "" {
		text.WriteString(" " + e.Reason)
	}
	text.WriteString(": " + e.Message)
	for _, violation := range e.Violations {
		fmt.Fprintf(&text, "; %s: %s", violation.Field, violation.Description)
	}
	return text.String()
}

// GRPCStatus lets status.FromError and status.Code see through.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// Temporary says whether the same request may succeed later: the server is away, busy, shutting down, or lacks
// something that can come. A defect counts too: another replica may not have it.
func (e *Error) Temporary() bool {
	switch e.Code {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown,
		codes.DeadlineExceeded, codes.Canceled, codes.FailedPrecondition:
		return e.Reason != ReasonPlanTimeLimit && e.Reason != ReasonUploadTooLarge
	}
	return false
}

// FromError decodes an error of gRPC. nil and errors that are not gRPC's come back as they are.
func FromError(err error) error {
	var already *Error
	if err == nil || errors.As(err, &already) {
		return err
	}
	state, ok := status.FromError(err)
	if !ok {
		return err
	}
	decoded := &Error{Code: state.Code(), Message: state.Message(), status: state}
	for _, detail := range state.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.GetDomain() == Domain {
				decoded.Reason, decoded.Metadata = detail.GetReason(), detail.GetMetadata()
			}
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				decoded.Violations = append(decoded.Violations, Violation{violation.GetField(), violation.GetDescription()})
			}
		case *errdetails.RetryInfo:
			decoded.RetryDelay = detail.GetRetryDelay().AsDuration()
		case *errdetails.ResourceInfo:
			decoded.Resource = detail.GetResourceName()
		case *errdetails.PreconditionFailure:
			for _, violation := range detail.GetViolations() {
				decoded.Preconditions = append(decoded.Preconditions, violation.GetDescription())
			}
		}
	}
	return decoded
}
