#include "tests/fuzz/checks.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/common.h>
#include <time.h>

#include <cmath>

namespace evenkeel::fuzz {
namespace {

constexpr size_t kMostViolations = 101;  // the last one gives the number of the others

double granted_seconds = 0.06;
double patience_seconds = 4;

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool IsGoodLine(const std::string& text) {
  return google::protobuf::internal::IsStructurallyValidUTF8(text.data(),
                                                             static_cast<int>(text.size())) &&
         text.find('\n') == std::string::npos;
}

void RequireFiniteValue(double value, const google::protobuf::FieldDescriptor& field) {
  Require(std::isfinite(value), field.full_name() + " is not finite");
}

void RequireFiniteField(const google::protobuf::Message& message,
                        const google::protobuf::FieldDescriptor* field, int index) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const bool repeated = field->is_repeated();
  if (field->cpp_type() == Field::CPPTYPE_DOUBLE) {
    RequireFiniteValue(repeated ? reflection.GetRepeatedDouble(message, field, index)
                                : reflection.GetDouble(message, field),
                       *field);
  } else if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
    fuzz::RequireFinite(repeated ? reflection.GetRepeatedMessage(message, field, index)
                                 : reflection.GetMessage(message, field));
  }
}

}  // namespace

void Require(bool promise, const std::string& what) {
  if (!promise) throw Broken(what);
}

void RequireGood(const std::vector<server::Violation>& violations) {
  Require(violations.size() <= kMostViolations, "too many violations");
  for (const server::Violation& violation : violations) {
    Require(!violation.description.empty(), "a violation says nothing");
    Require(IsGoodLine(violation.field) && IsGoodLine(violation.description),
            "a violation is no line of UTF-8: " + violation.field);
  }
}

void RequireFinite(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) RequireFiniteField(message, field, i);
  }
}

Budget::Budget(const char* what) : what_(what), started_(ThreadSeconds()) {}

double Budget::used() const { return ThreadSeconds() - started_; }

bool Budget::spent() const { return used() > granted_seconds; }

planner::PlanHooks Budget::hooks() const {
  return {.stop = [this] { return spent(); }, .enter = {}};
}

void Budget::RequireKept() const {
  Require(used() < granted_seconds + patience_seconds,
          std::string(what_) + " took " + std::to_string(used()) + " s");
}

void SetBudgets(double granted, double patience) {
  granted_seconds = granted;
  patience_seconds = patience;
}

}  // namespace evenkeel::fuzz
