// Measures the time of a known plan in addition to the transport. In turns within one run, it
// compares the real server, which answers the same PlanJob again, with an echo server of the same
// API and sizes, and with an empty call. It judges by ratios only, because machines are noisy.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.grpc.pb.h"
#include "tests/bench/load.h"
#include "tests/bench/process.h"

namespace evenkeel::server {
namespace {

using EchoApi = v1::PlannerService::WithRawCallbackMethod_PlanJob<
    v1::PlannerService::WithRawCallbackMethod_GetPlan<v1::PlannerService::Service>>;

constexpr char kPlanJob[] = "/evenkeel.v1.PlannerService/PlanJob";
constexpr char kEmptyCall[] = "/evenkeel.v1.PlannerService/GetPlan";  // a call of the echo server
constexpr int kConcurrencies[] = {1, 8, 64};
constexpr int kJudgedUpTo = 8;  // above this, both servers wait for the CPU
constexpr double kWarmUpSeconds = 0.1;

struct Settings {
  std::string server;
  std::string transport = "unix";
  int rounds = 7;
  double seconds = 0.2;
  double max_p50_ratio = 1.5;
  double min_qps_ratio = 0.65;
  std::string echo_address;  // if set, this process is the echo server
  size_t reply_bytes = 0;    // size of the echo server's replies
};

// ---------------------------------------------------------------- echo server

// Answers PlanJob with a reply of a given size, GetPlan with an empty one.
class EchoService final : public EchoApi {
 public:
  explicit EchoService(size_t reply_bytes) : reply_(std::string(reply_bytes, 'x')) {}

  grpc::ServerUnaryReactor* PlanJob(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* /*request*/,
                                    grpc::ByteBuffer* response) override {
    *response = grpc::ByteBuffer(&reply_, 1);
    return Done(context);
  }

  grpc::ServerUnaryReactor* GetPlan(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* /*request*/,
                                    grpc::ByteBuffer* response) override {
    const grpc::Slice nothing;
    *response = grpc::ByteBuffer(&nothing, 1);
    return Done(context);
  }

 private:
  static grpc::ServerUnaryReactor* Done(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const grpc::Slice reply_;  // shared by all replies, not copied
};

int RunEcho(const Settings& settings) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  EchoService service(settings.reply_bytes);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(settings.echo_address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  server->Wait();
  return 0;
}

// ---------------------------------------------------------------- processes

std::string FreeAddress(const Settings& settings, const std::string& folder, const char* name) {
  if (settings.transport == "unix") return "unix:" + folder + "/" + name;
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(probe, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("no free port");
    std::exit(1);
  }
  close(probe);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

// ---------------------------------------------------------------- jobs

std::string SmallRequest() {
  v1::PlanJobRequest request;
  request.mutable_job()->mutable_model()->set_name("internvl-chat-v1.5");
  auto* pool = request.mutable_job()->mutable_cluster()->add_pools();
  pool->set_gpu_type("a100-sxm-80gb");
  pool->set_gpu_count(32);
  return request.SerializeAsString();
}

std::string ExampleRequest() {
  std::ifstream file(EVENKEEL_SOURCE_DIR "/deploy/examples/internvl-6b-20b.json");
  std::ostringstream text;
  text << file.rdbuf();
  v1::PlanJobRequest request;
  if (!file || !google::protobuf::util::JsonStringToMessage(text.str(), &request).ok()) {
    std::fputs("cannot read the example job\n", stderr);
    std::exit(1);
  }
  return request.SerializeAsString();
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// Asks until the plan comes from memory; returns the size of that reply.
size_t MakeKnown(grpc::Channel* channel, const std::string& request_bytes) {
  const auto stub = v1::PlannerService::NewStub(
      std::shared_ptr<grpc::ChannelInterface>(channel, [](grpc::ChannelInterface*) {}));
  v1::PlanJobRequest request;
  request.ParseFromString(request_bytes);
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::PlanJobResponse response;
    const grpc::Status status = stub->PlanJob(&context, request, &response);
    if (!status.ok()) {
      std::fprintf(stderr, "PlanJob: %s\n", status.error_message().c_str());
      std::exit(1);
    }
    if (response.served_from() == v1::SERVED_FROM_MEMORY) return response.ByteSizeLong();
  }
  std::fputs("the plan does not stay in memory\n", stderr);
  std::exit(1);
}

// ---------------------------------------------------------------- comparison

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <typename Get>
double MedianOf(const std::vector<std::vector<Figures>>& rounds, Get get) {
  std::vector<double> values;
  for (const auto& round : rounds) values.push_back(get(round));
  return Median(std::move(values));
}

void PrintRow(const char* first, const Figures& echo, const Figures& known, const Figures& empty,
              double p50_ratio, double qps_ratio, double empty_ratio) {
  std::printf(
      "%7s | %6.0f %6.0f %7.0f | %6.0f %6.0f %7.0f | %6.0f %6.0f %7.0f | %8.2f %8.2f %9.2f\n",
      first, echo.p50_us, echo.p99_us, echo.qps, known.p50_us, known.p99_us, known.qps,
      empty.p50_us, empty.p99_us, empty.qps, p50_ratio, qps_ratio, empty_ratio);
}

Figures MedianFigures(const std::vector<std::vector<Figures>>& rounds, size_t target) {
  return {MedianOf(rounds, [target](const auto& r) { return r[target].p50_us; }),
          MedianOf(rounds, [target](const auto& r) { return r[target].p99_us; }),
          MedianOf(rounds, [target](const auto& r) { return r[target].qps; })};
}

// Runs all rounds at one concurrency. `targets` are echo, known plan and empty call. Returns
// whether the medians of the ratios are good.
bool Compare(const Settings& settings, const std::vector<Target>& targets, int concurrency) {
  for (const Target& target : targets) Load(target, concurrency, kWarmUpSeconds).Run();
  std::vector<std::vector<Figures>> rounds;
  for (int round = 0; round < settings.rounds; ++round) {
    std::vector<Figures> figures(targets.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      const size_t at = round % 2 == 0 ? i : targets.size() - 1 - i;
      figures[at] = Load(targets[at], concurrency, settings.seconds).Run();
    }
    rounds.push_back(figures);
    PrintRow(std::to_string(round + 1).c_str(), figures[0], figures[1], figures[2],
             figures[1].p50_us / figures[0].p50_us, figures[1].qps / figures[0].qps,
             figures[1].p50_us / figures[2].p50_us);
  }
  const double p50 = MedianOf(rounds, [](const auto& r) { return r[1].p50_us / r[0].p50_us; });
  const double qps = MedianOf(rounds, [](const auto& r) { return r[1].qps / r[0].qps; });
  const double empty = MedianOf(rounds, [](const auto& r) { return r[1].p50_us / r[2].p50_us; });
  PrintRow("median", MedianFigures(rounds, 0), MedianFigures(rounds, 1), MedianFigures(rounds, 2),
           p50, qps, empty);
  if (concurrency > kJudgedUpTo) return true;
  const bool good = p50 <= settings.max_p50_ratio && qps >= settings.min_qps_ratio;
  std::printf("%7s   p50 ratio %.2f (at most %.2f), throughput ratio %.2f (at least %.2f)\n",
              good ? "good:" : "MISSED:", p50, settings.max_p50_ratio, qps, settings.min_qps_ratio);
  return good;
}

bool CompareJob(const Settings& settings, const std::string& folder, const char* name,
                const std::shared_ptr<grpc::Channel>& server, const std::string& request) {
  const size_t reply_bytes = MakeKnown(server.get(), request);
  const std::string address = FreeAddress(settings, folder, name);
  const Process echo(
      {"/proc/self/exe", "--echo", address, "--reply-bytes", std::to_string(reply_bytes)},
      folder + "/" + name + ".log");
  const auto echo_channel = Connect(address);
  const std::vector<Target> targets = {
      {"echo", echo_channel, kPlanJob, ToBuffer(request), reply_bytes},
      {"known plan", server, kPlanJob, ToBuffer(request), reply_bytes},
      {"empty call", echo_channel, kEmptyCall, ToBuffer({}), 0}};
  bool good = true;
  for (const int concurrency : kConcurrencies) {
    std::printf("\n%s job: request %zu bytes, reply %zu bytes, over %s; %d in flight\n", name,
                request.size(), reply_bytes, settings.transport.c_str(), concurrency);
    std::printf("%7s | %-21s | %-21s | %-21s | %s\n", "", "echo: p50 p99 us, QPS", "known plan",
                "empty call", "p50/echo QPS/echo p50/empty");
    good = Compare(settings, targets, concurrency) && good;
  }
  return good;
}

int RunBenchmark(const Settings& settings) {
  char name[] = "/tmp/evenkeel-bench-XXXXXX";
  const std::string folder = mkdtemp(name);
  const std::string address = FreeAddress(settings, folder, "server");
  bool good = true;
  {
    const Process process(
        {settings.server, "--listen", address, "--metrics-address", "127.0.0.1:0"},
        folder + "/server.log");
    const auto channel = Connect(address);
    good = CompareJob(settings, folder, "small", channel, SmallRequest());
    good = CompareJob(settings, folder, "example", channel, ExampleRequest()) && good;
  }
  std::filesystem::remove_all(folder);
  std::printf("\nknown plan: %s\n", good ? "1 passed, 0 failed" : "0 passed, 1 failed");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace evenkeel::server

int main(int argc, char** argv) {
  evenkeel::server::Settings settings;
  settings.server =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "evenkeel-server";
  CLI::App app("Known plans against an echo of the same sizes");
  app.add_option("--server", settings.server, "evenkeel-server to measure")->capture_default_str();
  app.add_option("--transport", settings.transport, "unix or tcp (loopback)")
      ->check(CLI::IsMember({"unix", "tcp"}))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Rounds at each concurrency")->capture_default_str();
  app.add_option("--seconds", settings.seconds, "Seconds of load on each server in each round")
      ->capture_default_str();
  app.add_option("--max-p50-ratio", settings.max_p50_ratio,
                 "Highest ratio that passes, at 1 and 8 in flight")
      ->capture_default_str();
  app.add_option("--min-qps-ratio", settings.min_qps_ratio,
                 "Lowest ratio that passes, at 1 and 8 in flight")
      ->capture_default_str();
  app.add_option("--echo", settings.echo_address, "Be the echo server on this address");
  app.add_option("--reply-bytes", settings.reply_bytes, "Size of its replies");
  CLI11_PARSE(app, argc, argv);
  return settings.echo_address.empty() ? evenkeel::server::RunBenchmark(settings)
                                       : evenkeel::server::RunEcho(settings);
}
