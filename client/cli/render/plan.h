// Shows a plan to a person. The text is UTF-8 or ASCII, according to `style`, and at most
// style.width columns wide if words allow it.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_PLAN_H_
#define EVENKEEL_CLIENT_CLI_RENDER_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/base/command_line.h"
#include "client/cli/base/text.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// Where a plan came from, and how it was asked for.
struct PlanOrigin {
  std::string served_from;  // such as "computed by 127.0.0.1:50051"; empty if unknown
  std::optional<CommandLine>
      command;  // for "Next commands"; if unset, derived from the plan's subject
  // Set if the plan is the best of several offers: the command that asks for it alone, and the text
  // of RenderOffers.
  std::optional<CommandLine> of_offer;
  std::string comparison;
};

// Returns ", with the profiles of 12 s ago" for an answer that may lack newer ones, otherwise "".
template <typename Response>
std::string UnconfirmedText(const Response& response) {
  if (!response.has_calibration_unconfirmed_seconds()) return "";
  return ", with the profiles of " + Duration(response.calibration_unconfirmed_seconds()) +
         " ago: newer ones could not be looked for";
}

std::string RenderPlan(const Style& style, const v1::Plan& plan, const PlanOrigin& origin);

// Returns how long the whole training takes, with failures if the plan counts them.
double FinishSeconds(const v1::Plan& plan);

// Returns whether a step has over kBatchTolerance more or fewer samples than asked for: packs are
// whole.
inline constexpr double kBatchTolerance = 0.05;
bool MissesBatch(double asked, double samples);

// Names a kind of layers as in the tables, such as "experts".
const char* LayerKindName(v1::LayerKind kind);

// Return parts of the text, in order of appearance. Each begins with an empty line, or is empty if
// the plan has nothing to show.
std::string RenderHeader(const Style& style, const v1::Plan& plan, const PlanOrigin& origin);
// Returns how long a step takes and how full the GPUs are: "Fits: ...".
std::string FitText(const v1::Plan& plan);
// Returns sentences that follow FitText where memory may not suffice, otherwise "".
std::string MemoryRiskText(const v1::Plan& plan);
// Returns further caveats for a reader of the plan, each a sentence without its full stop.
std::vector<std::string> PlanNotes(const v1::Plan& plan);
// Returns these caveats as lines that begin with "note", without an empty line before them.
std::string RenderNotes(const Style& style, const v1::Plan& plan);
std::string RenderMisfit(const Style& style, const v1::Plan& plan, const CommandLine& command);
std::string RenderBatchRule(const Style& style, const v1::Plan& plan);
// Shows padded micro-batches, in place of the batch rule.
std::string RenderPaddedBatches(const Style& style, const v1::Plan& plan);
// Shows packing groups, how they were chosen, and the cost of other ways of batching.
std::string RenderGroups(const Style& style, const v1::Plan& plan);
std::string RenderBatchingMethods(const Style& style, const v1::Plan& plan);
std::string RenderStages(const Style& style, const v1::Plan& plan);
std::string RenderStageMemory(const Style& style, const v1::Plan& plan);
std::string RenderStageTimes(const Style& style, const v1::Plan& plan);
std::string RenderStepTime(const Style& style, const v1::Plan& plan);
std::string RenderGoodput(const Style& style, const v1::Plan& plan);
std::string RenderLadder(const Style& style, const v1::Plan& plan);
std::string RenderAlternatives(const Style& style, const v1::Plan& plan);
std::string RenderOtherSizes(const Style& style, const v1::Plan& plan);
std::string RenderOtherPrecisions(const Style& style, const v1::Plan& plan);
std::string RenderOtherShardings(const Style& style, const v1::Plan& plan);

// Returns the plan's step under each dispatcher of experts, if there are several.
std::string RenderDispatchers(const Style& style, const v1::Plan& plan);
std::string RenderProof(const Style& style, const v1::Plan& plan);
std::string RenderBasis(const Style& style, const v1::Plan& plan);
// `of_offer` asks for the plan alone if `command` asks for several offers.
std::string RenderNextCommands(const Style& style, const v1::Plan& plan, const CommandLine& command,
                               const std::optional<CommandLine>& of_offer = std::nullopt);

// Returns "The simulated step takes 23.3 s with mean packs. Unequal packs add 871 ms (imbalance).",
// or "" if imbalance is less than 0.1% of the step. Terminal and report share it.
std::string StepSumText(const v1::Plan& plan);

// Returns how the plan compares with the proven lower bound on a step with mean packs, and how its
// own steps differ from the proven one. Requires a plan whose proof has a lower bound. Terminal and
// report share it.
std::string BoundText(const v1::Plan& plan);

// Wraps texts such as "encoder 0-21 (22)" into lines of at most `width` columns.
std::string LayersText(const google::protobuf::RepeatedPtrField<v1::LayerGroup>& layers, int width);

// Returns "tensor 4 x pipeline 4 x data 2", with other degrees if they are above 1.
std::string ParallelismText(const v1::Parallelism& parallelism);

// Returns whether layers of this kind are cut layer by layer: encoder, dense and MoE layers.
bool IsTransformer(v1::LayerKind kind);

// Counts the layers of all stages that recompute any part.
int RecomputedLayers(const v1::Plan& plan);

// Returns "packs", or "micro-batches" if the plan pads them.
std::string PacksName(const v1::Plan& plan);

// Returns whether pipelines cross nodes, or "" without a pipeline.
std::string PipelineNodesText(const v1::Plan& plan);

// Returns the tensors that wait in host memory, and the gain. REQUIRES: the plan has an offload.
std::string OffloadText(const v1::Plan& plan);

// Returns "ZeRO-1", "ZeRO-3 in groups of 8 ranks" or "no ZeRO".
std::string ZeroText(v1::ZeroStage stage, int32_t group);

// Returns "interleaved 1F1B, 3 virtual stages".
std::string ScheduleText(const v1::Plan& plan);

// Returns the split in the form of tables: "4 x 4 x 2", "4 x 4 x 2, context 2".
std::string SplitText(const v1::Parallelism& parallelism);

// Returns why a misfit does not fit, without remedies.
std::string MisfitText(const v1::Misfit& misfit);

// Returns the memory that a misfit lacks: "5.0 GiB short", "5.0 GiB of host memory short".
std::string ShortText(const v1::Misfit& misfit);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_PLAN_H_
