// Requests derived from requests. Each changes one thing, and a property states the effect that
// this may have on the plan.
#ifndef EVENKEEL_TESTS_METAMORPHIC_VARIANTS_H_
#define EVENKEEL_TESTS_METAMORPHIC_VARIANTS_H_

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "tests/metamorphic/draws.h"

namespace evenkeel::metamorphic {

struct Variant {
  std::string name;  // such as "tp=4"
  v1::PlanJobRequest request;
};

// Returns the request with the caps of its plan, and thus one group of samples, and with its
// offload. Its plans and those of its variants then have the same packs.
v1::PlanJobRequest WithCaps(const v1::PlanJobRequest& request, const v1::Plan& plan);

// Returns up to `count` different variants of the request. Each fixes one value that the request
// leaves free, so that the variant's plans are among those of the request.
std::vector<Variant> RandomPins(Draws& draws, const v1::PlanJobRequest& request,
                                const v1::Plan& plan, int count);

// Makes one pin by name, as RandomPins names them: "tp=4", "pp=2 cp=1", "schedule=INTERLEAVED",
// "recompute=FULL", "method=LAYERS". REQUIRES: the name is that of a pin.
Variant Pinned(const v1::PlanJobRequest& request, const std::string& name);

// Returns the request with the remedy applied.
v1::PlanJobRequest WithRemedy(const v1::PlanJobRequest& request, const v1::Remedy& remedy);

v1::PlanJobRequest WithMoreBandwidth(Draws& draws, const v1::PlanJobRequest& request,
                                     const v1::Plan& plan);
// Returns the request with less memory than it has.
v1::PlanJobRequest WithLessMemory(Draws& draws, const v1::PlanJobRequest& request,
                                  const v1::Plan& plan);
// Freezes one component more. Returns nullopt if nothing else would train.
std::optional<v1::PlanJobRequest> WithFrozen(Draws& draws, const v1::PlanJobRequest& request);
// Trains the components with adapters in full. Returns nullopt if there are none.
std::optional<v1::PlanJobRequest> WithoutLora(const v1::PlanJobRequest& request);
// Returns the request with twice the GPUs, or nullopt if these would be too many.
std::optional<v1::PlanJobRequest> WithTwiceTheGpus(const v1::PlanJobRequest& request);
// Returns the number of pools that offer this type and number of GPUs.
int64_t PoolsOf(const v1::PlanJobRequest& request, const v1::PlanSubject& subject);
// Returns the request for only one of its offers.
v1::PlanJobRequest OfferAlone(const v1::PlanJobRequest& request, const v1::PlanSubject& subject);

// Returns the plan unchanged, for EvaluatePlan.
v1::EvaluatePlanRequest AsEvaluation(const v1::PlanJobRequest& request, const v1::Plan& plan);
// Lets every layer recompute all of itself, or none.
v1::EvaluatePlanRequest WithRecompute(v1::EvaluatePlanRequest request, bool all);
// Moves a layer from one stage to the next. Returns nullopt if no stage can spare one.
std::optional<v1::EvaluatePlanRequest> WithLayerMoved(Draws& draws,
                                                      v1::EvaluatePlanRequest request);

// Returns whether the plan's trainer can cut the model as the plan does: some keep a whole encoder
// on the first stage, and other cuts are outside of the space that a bound covers.
bool TrainerCuts(const v1::Plan& plan);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_VARIANTS_H_
