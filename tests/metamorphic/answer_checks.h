// Properties of answers: how planning ended, and answers that belong together. Each check returns
// the faults, and nothing if all is well.
#ifndef EVENKEEL_TESTS_METAMORPHIC_ANSWER_CHECKS_H_
#define EVENKEEL_TESTS_METAMORPHIC_ANSWER_CHECKS_H_

#include "tests/metamorphic/checks.h"
#include "tests/metamorphic/planning.h"

namespace evenkeel::metamorphic {

// Accepts a plan or a refusal. There must be no defect and no exception, and planning must end in
// time.
Faults CheckAnswer(const Answer& answer);
// Checks that the same request gave the same bytes.
Faults CheckSameBytes(const Answer& answer, const Answer& again);
// Checks that the request with a remedy applied is accepted and fits.
Faults CheckRemedied(const Answer& answer);
// Checks that the plan of an offer equals the plan of a request for only that offer.
Faults CheckOfferAlone(const v1::Plan& offer, const Answer& single);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_ANSWER_CHECKS_H_
