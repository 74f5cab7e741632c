// Measures the time of PackDataset in addition to the library call that it makes. In turns within
// one run, the same samples are packed by PackAndDeal and through a server of this process over a
// unix socket.
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.grpc.pb.h"
#include "planner/base/random.h"
#include "planner/packing/pack_dataset.h"
#include "server/options.h"
#include "server/planning/compute_plan.h"
#include "server/server.h"

namespace evenkeel::server {
namespace {

constexpr int kRanks = 8;

struct Samples {
  std::vector<int32_t> units, tokens;
};

// Makes samples of 1 to 7 tiles of 256 tokens and up to 700 tokens of text.
Samples MakeSamples(int64_t count) {
  planner::Random random(1);
  Samples samples;
  for (int64_t i = 0; i < count; ++i) {
    const auto units = static_cast<int32_t>(1 + random.Below(7));
    samples.units.push_back(units);
    samples.tokens.push_back(256 * units + 1 + static_cast<int32_t>(random.Below(700)));
  }
  return samples;
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double LibraryCall(const Samples& samples, int64_t* packs) {
  planner::PackingJob job;
  job.pack.caps = {.units = 9, .tokens = 4096};
  job.deal.ranks = kRanks;
  const auto since = std::chrono::steady_clock::now();
  const auto result = planner::PackAndDeal({samples.units, samples.tokens}, job);
  *packs = static_cast<int64_t>(result.packing.size());
  return Seconds(since);
}

double Call(v1::PlannerService::Stub& stub, const Samples& samples, size_t chunk, int64_t* packs) {
  const auto since = std::chrono::steady_clock::now();
  grpc::ClientContext context;
  const auto stream = stub.PackDataset(&context);
  v1::PackDatasetRequest request;
  request.mutable_start()->mutable_rule()->set_unit_cap(9);
  request.mutable_start()->mutable_rule()->set_token_cap(4096);
  request.mutable_start()->set_data_parallel(kRanks);
  request.mutable_start()->set_sample_count(static_cast<int64_t>(samples.units.size()));
  stream->Write(request);
  for (size_t at = 0; at < samples.units.size(); at += chunk) {
    const size_t end = std::min(at + chunk, samples.units.size());
    request.Clear();
    request.mutable_chunk()->mutable_units()->Add(samples.units.begin() + static_cast<long>(at),
                                                  samples.units.begin() + static_cast<long>(end));
    request.mutable_chunk()->mutable_llm_tokens()->Add(
        samples.tokens.begin() + static_cast<long>(at),
        samples.tokens.begin() + static_cast<long>(end));
    stream->Write(request);
  }
  stream->WritesDone();
  v1::PackDatasetResponse response;
  size_t indices = 0;
  *packs = 0;
  while (stream->Read(&response)) {
    *packs += response.packs().sample_count_size();
    indices += static_cast<size_t>(response.packs().sample_index_size());
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok() || indices != samples.units.size()) {
    std::fprintf(stderr, "PackDataset: %s\n", status.error_message().c_str());
    std::exit(1);
  }
  return Seconds(since);
}

void Measure(v1::PlannerService::Stub& stub, int64_t count, size_t chunk, int rounds) {
  const Samples samples = MakeSamples(count);
  std::vector<double> library, call, ratio;
  int64_t packs = 0, same = 0;
  for (int round = 0; round < rounds; ++round) {
    library.push_back(LibraryCall(samples, &packs));
    call.push_back(Call(stub, samples, chunk, &same));
    ratio.push_back(call.back() / library.back());
    if (packs != same) std::exit(1);
  }
  std::printf("%10ld %10ld %12.4f %12.4f %8.2fx\n", count, packs, Median(library), Median(call),
              Median(ratio));
}

int Main(int argc, char** argv) {
  CLI::App app("PackDataset against the library call that it makes");
  int rounds = 5;
  size_t chunk = 65536;
  app.add_option("--rounds", rounds, "Turns of each");
  app.add_option("--chunk", chunk, "Samples per message");
  CLI11_PARSE(app, argc, argv);
  const std::string address = "unix:" + (std::filesystem::temp_directory_path() /
                                         ("pack-bench-" + std::to_string(getpid())))
                                            .string();
  const char* server_argv[] = {"evenkeel-server"};
  Options options = ParseOptions(1, server_argv).options;
  options.listen = {address};
  options.metrics_address = "off";
  std::string error;
  const auto server = Server::Start(options, &ComputePlan, &error);
  if (server == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const auto stub =
      v1::PlannerService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  std::printf("%10s %10s %12s %12s %9s\n", "samples", "packs", "library s", "RPC s", "ratio");
  for (const int64_t count : {1000, 20'000, 200'000, 1'200'000}) {
    Measure(*stub, count, chunk, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace evenkeel::server

int main(int argc, char** argv) { return evenkeel::server::Main(argc, argv); }
