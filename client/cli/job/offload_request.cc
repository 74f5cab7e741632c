#include "client/cli/job/offload_request.h"

#include <cstdint>
#include <string>

#include "client/cli/base/command_error.h"
#include "client/cli/base/parse_number.h"
#include "client/cli/job/option_names.h"

namespace evenkeel::cli {

namespace {

void SetModules(const JobFlags& flags, v1::Job* job) {
  if (flags.offload_modules.empty()) return;
  v1::Offload* offload = job->mutable_training()->mutable_offload();
  offload->clear_activation_modules();
  const bool chosen = flags.offload_modules.size() == 1 && flags.offload_modules[0] == "auto";
  offload->set_choose_activation_modules(chosen);
  if (chosen) return;
  for (const std::string& name : flags.offload_modules)
    offload->add_activation_modules(ValueOf(kOffloadModuleNames, name));
}

}  // namespace

void SetOffload(const JobFlags& flags, v1::Job* job) {
  const std::string &optimizer = flags.offload_optimizer, &layers = flags.offload_activations;
  if (flags.offload_weights) job->mutable_training()->mutable_offload()->set_weights(true);
  if (optimizer == "auto" && flags.offload_weights)
    throw CommandError(ExitCode::kBadInput,
                       "--offload-optimizer: auto cannot be combined with --offload-weights, "
                       "which offloads all of it");
  if (!optimizer.empty()) {
    v1::Offload* offload = job->mutable_training()->mutable_offload();
    offload->clear_optimizer_ratio();
    offload->set_choose_optimizer_ratio(optimizer == "auto" &&
                                        !(layers.empty() && flags.offload_modules.empty()));
    if (optimizer != "auto")
      offload->set_optimizer_ratio(ParseNumber<double>(optimizer).value_or(0));
  }
  SetModules(flags, job);
  if (layers.empty()) return;
  v1::Offload* offload = job->mutable_training()->mutable_offload();
  offload->clear_activation_layers();
  offload->set_choose_activation_layers(layers == "auto");
  if (layers != "auto") offload->set_activation_layers(ParseNumber<int32_t>(layers).value_or(0));
}

}  // namespace evenkeel::cli
