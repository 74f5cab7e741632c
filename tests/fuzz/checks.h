// Promises that targets keep for every input.
#ifndef EVENKEEL_TESTS_FUZZ_CHECKS_H_
#define EVENKEEL_TESTS_FUZZ_CHECKS_H_

#include <google/protobuf/message.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "planner/make_plan.h"
#include "server/convert/violations.h"

namespace evenkeel::fuzz {

class Broken : public std::logic_error {
  using std::logic_error::logic_error;
};

void Require(bool promise, const std::string& what);

// Requires that each violation names a field and says something, in one line of valid UTF-8, and
// that there are not too many.
void RequireGood(const std::vector<server::Violation>& violations);

// Requires that there is no NaN and no infinity anywhere.
void RequireFinite(const google::protobuf::Message& message);

// Measures the CPU time of this thread, so that other load does not count. It limits work by asking
// it to stop, and finds work that cannot be limited.
class Budget {
 public:
  explicit Budget(const char* what);
  // Requires that the work ended soon after the time was up.
  void RequireKept() const;

  bool spent() const;
  planner::PlanHooks hooks() const;

 private:
  double used() const;
  const char* what_;
  double started_;
};

// Sets the seconds that every Budget grants, and that work may take after that.
void SetBudgets(double granted, double patience);

}  // namespace evenkeel::fuzz

#endif  // EVENKEEL_TESTS_FUZZ_CHECKS_H_
