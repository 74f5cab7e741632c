#include "server/convert/violations.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/base/visible_text.h"

namespace evenkeel::server {

std::string FieldPath::Text() const {
  std::string text = parent_ == nullptr ? std::string() : parent_->Text() + ".";
  text += name_;
  if (index_ >= 0) text += "[" + std::to_string(index_) + "]";
  return text;
}

void ViolationSink::Add(const FieldPath& field, std::string description) {
  ++count_;
  if (static_cast<int64_t>(kept_.size()) >= limit_) return;
  kept_.push_back({field.Text(), Visible(description)});
}

std::vector<Violation> ViolationSink::Take() {
  const int64_t dropped = count_ - static_cast<int64_t>(kept_.size());
  if (dropped > 0 && !kept_.empty()) {
    kept_.back().description += " (and " + std::to_string(dropped) + " more violations)";
  }
  return std::move(kept_);
}

}  // namespace evenkeel::server
