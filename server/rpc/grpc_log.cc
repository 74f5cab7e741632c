#include "server/rpc/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include "server/log.h"

namespace evenkeel::server {
namespace {

void Forward(gpr_log_func_args* args) {
  const bool is_error = args->severity == GPR_LOG_SEVERITY_ERROR;
  LogLine(is_error ? LogLevel::kWarning : LogLevel::kDebug, "grpc")
      .Add("file", args->file)
      .Add("line", static_cast<int64_t>(args->line))
      .Add("detail", args->message);
}

}  // namespace

void CaptureGrpcLog() {
  gpr_set_log_function(&Forward);
  // This drops complaints about malformed requests, because they are answered and any client could
  // flood the log.
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace evenkeel::server
