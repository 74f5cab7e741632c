// evenkeel-server: connects settings, the server and its exit code.
#include <cstdio>
#include <string>

#include "server/base/visible_text.h"
#include "server/lifecycle.h"
#include "server/log.h"
#include "server/options.h"
#include "server/planning/compute_plan.h"
#include "server/server.h"

int main(int argc, char** argv) {
  using namespace evenkeel::server;
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (!parsed.run) {
    std::fputs(parsed.text.c_str(), parsed.exit_code == 0 ? stdout : stderr);
    return parsed.exit_code;
  }
  const Options& options = parsed.options;
  BlockSignals();
  StartLog(options.log_level);
  std::string error;
  const auto server = Server::Start(options, &ComputePlan, &error);
  if (server == nullptr) {
    StopLog();
    std::fprintf(stderr, "evenkeel-server: %s\n", Visible(error, "\n").c_str());
    return 1;
  }
  std::string addresses;
  for (const std::string& address : options.listen) {
    addresses += (addresses.empty() ? "" : ",") + address;
  }
  LogLine(LogLevel::kInfo, "SERVING")
      .Add("listen", addresses)
      .Add("metrics_address", options.metrics_address)
      .Add("metrics_port", static_cast<int64_t>(server->metrics_port()))
      .Add("admin_address", options.admin_address);
  RunUntilSignal(*server, {options.drain_delay_seconds, options.drain_timeout_seconds});
  StopLog();
  return 0;
}
