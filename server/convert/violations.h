// Faults of a request, and their places.
#ifndef EVENKEEL_SERVER_CONVERT_VIOLATIONS_H_
#define EVENKEEL_SERVER_CONVERT_VIOLATIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/violation.h"

namespace evenkeel::server {

// Place of a value in the request. Costs nothing until Text() is called. A path points to its
// parent, which must outlive it, and to its name, which is a literal.
class FieldPath {
 public:
  explicit FieldPath(std::string_view root, int64_t index = -1) : name_(root), index_(index) {}
  FieldPath(const FieldPath& parent, std::string_view name, int64_t index = -1)
      : parent_(&parent), name_(name), index_(index) {}

  FieldPath Child(std::string_view name, int64_t index = -1) const {
    return FieldPath(*this, name, index);
  }
  std::string Text() const;

 private:
  const FieldPath* parent_ = nullptr;
  std::string_view name_;
  int64_t index_ = -1;  // -1 if it is not an element of a list
};

// Gathers violations in the order in which they are found, which is field order. Keeps the first
// `limit` and counts the rest, so that a hostile request costs no more memory than an honest one.
class ViolationSink {
 public:
  explicit ViolationSink(int64_t limit) : limit_(limit) {}

  void Add(const FieldPath& field, std::string description);
  int64_t count() const { return count_; }

  // Returns the violations that were kept; the last entry gives the number of those that were not.
  std::vector<Violation> Take();

 private:
  int64_t limit_;
  int64_t count_ = 0;
  std::vector<Violation> kept_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_VIOLATIONS_H_
