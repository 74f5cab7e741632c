// Counts how often each property was compared and how often it failed, and keeps the requests that
// failed.
#ifndef EVENKEEL_TESTS_METAMORPHIC_LEDGER_H_
#define EVENKEEL_TESTS_METAMORPHIC_LEDGER_H_

#include <cstdint>
#include <string>

#include "evenkeel/v1/planner_service.pb.h"
#include "tests/metamorphic/checks.h"

namespace evenkeel::metamorphic {

// Plain numbers, so that processes can share them in memory.
struct Counts {
  int64_t compared[kChecks] = {};
  int64_t failed[kChecks] = {};
  int64_t jobs = 0;
  int64_t refused = 0;         // jobs that validation refused
  int64_t misfits = 0;         // jobs that do not fit
  int64_t refused_pins = 0;    // variants that validation refused
  int64_t plans = 0;           // plans made, variants included
  int64_t early_stops = 0;     // plans whose search ended at its limit of work
  int64_t current_job = -1;    // job whose checks are running
  double slowest_seconds = 0;  // CPU time of the slowest job with its variants
  int64_t slowest_job = -1;

  double cpu_seconds = 0;  // CPU time of all jobs

  void Add(const Counts& other);
};

// The result of the counts. A property that was never compared counts as failed once, because it
// showed nothing.
struct Verdict {
  int64_t passed = 0, failed = 0;
};
Verdict VerdictOf(const Counts& counts);

// Counts, and writes findings into a folder: one line each into findings-CHECK.txt, and the request
// as JSON that `evenkeelctl plan --job` takes.
class Ledger {
 public:
  // `counts` outlives the ledger. If the folder is empty, findings go only to standard error.
  Ledger(Counts* counts, std::string folder) : counts_(*counts), folder_(std::move(folder)) {}

  void BeginJob(int64_t number);
  // Notes one comparison. `request` shows the fault. `other` (may be null) is the request that it
  // is compared with.
  bool Judge(Check check, const Faults& faults, const std::string& what,
             const v1::PlanJobRequest& request, const v1::PlanJobRequest* other = nullptr);

  Counts& counts() { return counts_; }

 private:
  Counts& counts_;
  const std::string folder_;
  int serial_ = 0;  // number of the next finding of this job
};

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_LEDGER_H_
