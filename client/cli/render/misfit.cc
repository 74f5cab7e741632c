// Explains why a job does not fit and lists remedies, in the words of the command line.
#include <fmt/format.h>

#include <string>

#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

// Returns "all layers, all recomputed", or the layers of the stage.
std::string LayersOf(const v1::Misfit& misfit) {
  int layers = 0, recomputed = 0;
  for (const v1::LayerGroup& group : misfit.layers()) {
    if (!IsTransformer(group.kind())) continue;
    layers += group.layer_count(), recomputed += group.recomputed_count();
  }
  const std::string which = misfit.parallelism().pipeline() <= 1
                                ? "all layers"
                                : LayersText(misfit.layers(), /*width=*/1 << 20);
  if (recomputed == 0) return which;
  return recomputed == layers ? which + ", all recomputed"
                              : fmt::format("{}, {} recomputed", which, recomputed);
}

}  // namespace

std::string MisfitText(const v1::Misfit& misfit) {
  std::string text;
  if (misfit.micro_batches() > 0) {
    text = fmt::format(
        "Each of {} has {} in a step. An optimizer that updates each layer during the backward "
        "pass allows one.",
        Counted(misfit.parallelism().data(), "data-parallel rank"),
        Counted(misfit.micro_batches(), "micro-batch"));
  } else if (misfit.memory().total_bytes() <= 0) {
    return misfit.text();  // only words are known
  } else if (misfit.host_short_bytes() > 0) {
    text = fmt::format("Stage {} ({}) fits its GPUs, but its nodes lack {} of host memory.",
                       misfit.stage_index(), LayersOf(misfit), Bytes(misfit.host_short_bytes()));
  } else {
    text = fmt::format("Stage {} ({}) needs {} GiB; a GPU has {} GiB.", misfit.stage_index(),
                       LayersOf(misfit), Gib(misfit.memory().total_bytes()),
                       Gib(misfit.capacity_bytes()));
  }
  if (!misfit.proven())
    text += " Not all cuts with several chunks per stage were tried: another may fit.";
  return text;
}

}  // namespace evenkeel::cli
