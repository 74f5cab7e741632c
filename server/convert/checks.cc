#include "server/convert/checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/base/visible_text.h"

namespace evenkeel::server {
namespace {

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string RangeText(IntRange range) {
  return std::to_string(range.min) + " to " + std::to_string(range.max);
}
std::string RangeText(RealRange range) {
  return NumberText(range.min) + " to " + NumberText(range.max);
}
std::string ValueText(int64_t value) { return std::to_string(value); }
std::string ValueText(double value) { return NumberText(value); }

// Written so that NaN is in no range.
bool Holds(IntRange range, int64_t value) { return value >= range.min && value <= range.max; }
bool Holds(RealRange range, double value) { return value >= range.min && value <= range.max; }

template <typename Value, typename Range>
Value Check(ViolationSink& sink, const FieldPath& field, Value value, Range range) {
  if (!Holds(range, value)) {
    sink.Add(field, "must be " + RangeText(range) + ", but is " + ValueText(value));
  }
  return value;
}

template <typename Value, typename Range>
Value CheckRequired(ViolationSink& sink, const FieldPath& field, Value value, Range range) {
  if (value == 0) {
    sink.Add(field, "required: " + RangeText(range));
    return value;
  }
  return Check(sink, field, value, range);
}

template <typename Value, typename Range>
Value CheckOr(ViolationSink& sink, const FieldPath& field, Value value, Range range,
              Value fallback) {
  if (value == 0) return fallback;
  if (!Holds(range, value)) {
    sink.Add(field, "must be " + RangeText(range) + ", or unset, but is " + ValueText(value));
  }
  return value;
}

}  // namespace

int64_t KeptViolations(int64_t max_violations) {
  const bool good = max_violations > 0 && max_violations <= kViolationLimits.max;
  return good ? max_violations : kDefaultMaxViolations;
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end);
}

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 64;
  const bool cut = text.size() > kLongest;
  if (cut) {
    size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text = text.substr(0, end);
  }
  return '"' + Visible(text) + (cut ? "..." : "") + '"';
}

std::string NearestText(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "; nearest: " : ", ") + name;
  return text;
}

int64_t CheckInt(ViolationSink& sink, const FieldPath& field, int64_t value, IntRange range) {
  return Check(sink, field, value, range);
}

double CheckReal(ViolationSink& sink, const FieldPath& field, double value, RealRange range) {
  return Check(sink, field, value, range);
}

int64_t CheckRequiredInt(ViolationSink& sink, const FieldPath& field, int64_t value,
                         IntRange range) {
  return CheckRequired(sink, field, value, range);
}

double CheckRequiredReal(ViolationSink& sink, const FieldPath& field, double value,
                         RealRange range) {
  return CheckRequired(sink, field, value, range);
}

int64_t CheckIntOr(ViolationSink& sink, const FieldPath& field, int64_t value, IntRange range,
                   int64_t fallback) {
  return CheckOr(sink, field, value, range, fallback);
}

double CheckRealOr(ViolationSink& sink, const FieldPath& field, double value, RealRange range,
                   double fallback) {
  return CheckOr(sink, field, value, range, fallback);
}

bool CheckText(ViolationSink& sink, const FieldPath& field, std::string_view text,
               int64_t max_bytes) {
  if (static_cast<int64_t>(text.size()) > max_bytes) {
    sink.Add(field, "must be at most " + std::to_string(max_bytes) + " bytes, but has " +
                        std::to_string(text.size()));
    return false;
  }
  if (std::any_of(text.begin(), text.end(), IsControl)) {
    sink.Add(field, "must not contain control characters: " + Quoted(text));
    return false;
  }
  return true;
}

void ListCheck::CheckInt(int64_t index, int64_t value, IntRange range) {
  if (Holds(range, value)) return;
  Fail(index, failures_ > 0 ? std::string()
                            : "must be " + RangeText(range) + ", but is " + ValueText(value));
}

void ListCheck::Fail(int64_t index, std::string description) {
  if (failures_++ > 0) return;
  first_index_ = index;
  first_ = std::move(description);
}

ListCheck::~ListCheck() {
  if (failures_ == 0) return;
  if (failures_ > 1) {
    first_ += " (and " + std::to_string(failures_ - 1) + " more in this list)";
  }
  sink_.Add(parent_.Child(name_, first_index_), std::move(first_));
}

}  // namespace evenkeel::server
