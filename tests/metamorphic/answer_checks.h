// Properties of answers: of how planning ended, and of answers that belong together. Each says what
// is wrong, and nothing if all is well.
#ifndef EVENKEEL_TESTS_METAMORPHIC_ANSWER_CHECKS_H_
#define EVENKEEL_TESTS_METAMORPHIC_ANSWER_CHECKS_H_

#include "tests/metamorphic/checks.h"
#include "tests/metamorphic/planning.h"

namespace evenkeel::metamorphic {

// Accepts a plan or a refusal: no defect, no exception, an end in time.
Faults CheckAnswer(const Answer& answer);
// Checks that the same request gave the same bytes.
Faults CheckSameBytes(const Answer& answer, const Answer& again);
// Checks that the request with a remedy applied is accepted and fits.
Faults CheckRemedied(const Answer& answer);
// Checks that the plan of an offer is the plan of a request for that offer alone.
Faults CheckOfferAlone(const v1::Plan& offer, const Answer& single);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_ANSWER_CHECKS_H_
