// Prints the costs of the most expensive accepted requests: conversion, planning, the longest time
// between two questions whether to stop (all in CPU time), and the peak of the heap.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "server/convert/job/from_proto.h"
#include "server/planning/compute_plan.h"
#include "server/planning/offers.h"
#include "server/planning/plan_cost.h"
#include "tests/cpu_time.h"
#include "tests/server/planning/cost_bombs.h"

namespace {

std::atomic<int64_t> heap_bytes = 0, heap_peak = 0;

void* Count(void* block) {
  if (block == nullptr) std::abort();
  const int64_t now = heap_bytes += static_cast<int64_t>(malloc_usable_size(block));
  if (now > heap_peak) heap_peak = now;
  return block;
}

void Release(void* block) {
  if (block != nullptr) heap_bytes -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(size_t size) { return Count(std::malloc(size)); }
void operator delete(void* block) noexcept { Release(block); }
void operator delete(void* block, size_t) noexcept { Release(block); }

namespace evenkeel::server {
namespace {

void Measure(const CostBomb& bomb, double limit_seconds) {
  const int64_t heap_before = heap_bytes;
  heap_peak = heap_before;
  const double start = CpuSeconds();
  OfferJobs offers;
  const auto violations = OffersFromProto(bomb.request, &offers, {}, {});
  const double converted = CpuSeconds();
  if (!violations.empty()) {
    std::printf("%-40s REFUSED %s: %s\n", bomb.name.c_str(), violations[0].field.c_str(),
                violations[0].description.substr(0, 100).c_str());
    return;
  }
  const double estimate = PlanCost(offers);
  double gap = 0, last = converted;
  planner::Phase phase = planner::Phase::kBatchRule, worst = phase;
  planner::PlanHooks hooks;
  const auto see = [&] {
    const double now = CpuSeconds();
    if (now - last > gap) {
      gap = now - last;
      worst = phase;
    }
    last = now;
  };
  hooks.stop = [&] {
    see();
    return last - converted > limit_seconds;
  };
  hooks.enter = [&](planner::Phase next) { phase = next; };
  ComputedPlan computed;
  std::vector<std::string> faults;
  const ComputeEnd end = offers.several()
                             ? ComputeOffers(offers, "plan", hooks, &computed, &faults)
                             : ComputePlan(offers.first(), "plan", hooks, &computed, &faults);
  see();
  const char* const kEnds[] = {"done", "STOPPED", "DEFECT", "refused"};
  std::printf(
      "%-40s %-8s fits=%d convert %7.1f ms, plan %8.2f s, gap %7.1f ms (%s), heap %6.1f MiB, "
      "answer %zu KiB, estimate %.2f s\n",
      bomb.name.c_str(), kEnds[static_cast<int>(end)], computed.facts.fits,
      (converted - start) * 1e3, last - converted, gap * 1e3, planner::PhaseName(worst),
      static_cast<double>(heap_peak - heap_before) / (1 << 20), computed.plan_bytes.size() / 1024,
      estimate);
  for (const std::string& fault : faults) std::printf("    fault: %s\n", fault.c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace evenkeel::server

// Usage: cost_bombs_bench [SECONDS [NAME]]. Stops each request after SECONDS (default 10), and runs
// those whose name contains NAME.
int main(int argc, char** argv) {
  using evenkeel::server::CostBomb;
  const double limit = argc > 1 ? std::atof(argv[1]) : 10;
  const std::string only = argc > 2 ? argv[2] : "";
  for (const auto& bombs : {evenkeel::server::CostBombs(), evenkeel::server::DataBombs(),
                            evenkeel::server::OfferBombs(), evenkeel::server::OrdinaryJobs()}) {
    for (const CostBomb& bomb : bombs) {
      if (bomb.name.find(only) != std::string::npos) evenkeel::server::Measure(bomb, limit);
    }
  }
}
