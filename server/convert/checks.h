// Checks of single values. Each returns the value to use and adds a violation that says what would
// be accepted. In proto3 a scalar that is not `optional` is unset when it is zero.
#ifndef EVENKEEL_SERVER_CONVERT_CHECKS_H_
#define EVENKEEL_SERVER_CONVERT_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/job.h"
#include "planner/space/parallelism.h"
#include "planner/workload/dataset.h"
#include "planner/workload/per_encoder.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

inline constexpr std::string_view kNotYet = "not yet supported in this version: ";
inline constexpr int64_t kMaxNameBytes = 128;

struct IntRange {  // inclusive
  int64_t min = 0;
  int64_t max = 0;
};
struct RealRange {  // inclusive
  double min = 0;
  double max = 0;
};

// Ranges that fields of several messages accept.
inline constexpr IntRange kDegrees = {1, planner::kGpusAtMost};
inline constexpr IntRange kUnitCaps = {0, planner::kUnitCapAtMost};
inline constexpr IntRange kSampleUnits = {0, planner::kMaxSampleUnits};
inline constexpr IntRange kSampleTokens = {1, planner::kMaxSampleTokens};
inline constexpr IntRange kPageSizes = {0, 1000};
inline constexpr IntRange kViolationLimits = {0, 1000};
inline constexpr int64_t kDefaultMaxViolations = 100;
inline constexpr int kMaxParts = 64;  // limit on the parts of a dataset
inline constexpr int kMaxEncoders = static_cast<int>(planner::kEncodersAtMost);
inline constexpr int kSuggestions = 3;  // number of similar names suggested for an unknown one

// Returns how many violations to keep. A bad number is itself reported as a violation.
int64_t KeptViolations(int64_t max_violations);

std::string NumberText(double value);  // shortest text that reads back as the same number

// Returns a caller's text in quotes, fit to be shown: at most 64 bytes, cut between characters,
// with hidden characters written out.
std::string Quoted(std::string_view text);

// Returns "; nearest: a, b, c", or "" if there are no names.
std::string NearestText(const std::vector<std::string>& names);

// Checks a field for which zero is a value like any other.
int64_t CheckInt(ViolationSink& sink, const FieldPath& field, int64_t value, IntRange range);
double CheckReal(ViolationSink& sink, const FieldPath& field, double value, RealRange range);
// Checks a required field, for which zero means unset.
int64_t CheckRequiredInt(ViolationSink& sink, const FieldPath& field, int64_t value,
                         IntRange range);
double CheckRequiredReal(ViolationSink& sink, const FieldPath& field, double value,
                         RealRange range);
// Checks a field for which zero means unset and stands for `fallback`.
int64_t CheckIntOr(ViolationSink& sink, const FieldPath& field, int64_t value, IntRange range,
                   int64_t fallback);
double CheckRealOr(ViolationSink& sink, const FieldPath& field, double value, RealRange range,
                   double fallback);

// Returns true if `text` has at most `max_bytes` and no control characters (names reach logs and
// terminals).
bool CheckText(ViolationSink& sink, const FieldPath& field, std::string_view text,
               int64_t max_bytes = kMaxNameBytes);

// Returns true if the contract knows the number; `accepted` lists what may be set.
template <typename Enum>
bool CheckEnum(ViolationSink& sink, const FieldPath& field, Enum value, bool (*is_known)(int),
               std::string_view accepted) {
  if (is_known(static_cast<int>(value))) return true;
  sink.Add(field, "unknown value " + std::to_string(static_cast<int>(value)) +
                      "; accepted: " + std::string(accepted));
  return false;
}

// Gathers the violations of one list: reports the first bad value and counts the others. Reports
// when it goes out of scope.
class ListCheck {
 public:
  ListCheck(ViolationSink& sink, const FieldPath& parent, std::string_view name)
      : sink_(sink), parent_(parent), name_(name) {}
  ListCheck(const ListCheck&) = delete;
  ListCheck& operator=(const ListCheck&) = delete;
  ~ListCheck();

  void CheckInt(int64_t index, int64_t value, IntRange range);
  void Fail(int64_t index, std::string description);
  bool failed() const { return failures_ > 0; }

 private:
  ViolationSink& sink_;
  const FieldPath& parent_;
  std::string_view name_;
  int64_t failures_ = 0;
  int64_t first_index_ = 0;
  std::string first_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CHECKS_H_
