#include "tests/metamorphic/given_offload.h"

namespace evenkeel::metamorphic {

void GiveOffload(const v1::Plan& plan, v1::Training* training) {
  if (!training->has_offload()) return;
  v1::Offload* offload = training->mutable_offload();
  const bool modules =
      offload->choose_activation_modules() || offload->activation_modules_size() > 0;
  const bool activations =
      offload->choose_activation_layers() || offload->has_activation_layers() || modules;
  const bool chosen = offload->choose_optimizer_ratio() ||
                      (!activations && !offload->weights() && !offload->has_optimizer_ratio());
  offload->set_choose_optimizer_ratio(false);
  if (chosen) offload->set_optimizer_ratio(plan.offload().optimizer_ratio());
  if (offload->choose_activation_modules()) {
    offload->set_choose_activation_modules(false);
    *offload->mutable_activation_modules() = plan.offload().activation_modules();
    if (offload->activation_modules_size() == 0 && !offload->has_optimizer_ratio())
      offload->set_optimizer_ratio(0);
  }
  if (!offload->choose_activation_layers()) return;
  offload->set_choose_activation_layers(false);
  offload->set_activation_layers(plan.offload().activation_layers());
}

void ChooseOffload(v1::RemedyKind kind, v1::Training* training) {
  v1::Offload* offload = training->mutable_offload();
  if (kind == v1::REMEDY_KIND_OFFLOAD_ACTIVATIONS) {
    offload->clear_activation_layers();
    offload->set_choose_activation_layers(true);
  }
  if (kind == v1::REMEDY_KIND_OFFLOAD_MODULES) offload->set_choose_activation_modules(true);
  if (kind == v1::REMEDY_KIND_OFFLOAD_WEIGHTS) offload->set_weights(true);
}

}  // namespace evenkeel::metamorphic
