#include "tests/metamorphic/answer_checks.h"

#include <string>

namespace evenkeel::metamorphic {

Faults CheckAnswer(const Answer& answer) {
  static const char* const kWords[] = {"", "refused", "INTERNAL", "late", "exception"};
  if (answer.planned() || answer.end == End::kRefused) return {};
  std::string fault = kWords[static_cast<int>(answer.end)];
  for (const std::string& part : answer.faults) fault += "; " + part;
  return {fault};
}

Faults CheckSameBytes(const Answer& answer, const Answer& again) {
  if (answer.bytes == again.bytes) return {};
  return {"other bytes"};
}

Faults CheckRemedied(const Answer& answer) {
  if (answer.end == End::kRefused) return {"refused: " + answer.faults.front()};
  if (answer.planned() && !answer.fits())
    return {"still does not fit: " + answer.plan().misfit().text()};
  return {};
}

Faults CheckOfferAlone(const v1::Plan& offer, const Answer& single) {
  v1::Plan own = offer, other = single.plan();
  // The aim does not change the plan of one offer, but the subject shows the requested aim.
  own.mutable_subject()->clear_objective();
  other.mutable_subject()->clear_objective();
  if (single.planned() && own.SerializeAsString() == other.SerializeAsString()) return {};
  return {"the plan of an offer is not the single plan of " + offer.subject().gpu_type() + " x " +
          std::to_string(offer.subject().gpu_count())};
}

}  // namespace evenkeel::metamorphic
