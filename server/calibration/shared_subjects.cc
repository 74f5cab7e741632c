#include "server/calibration/shared_subjects.h"

#include <algorithm>

namespace evenkeel::server {

void SharedSubjects::ShareText(Text* text) { *text = *texts_.insert(*text).first; }

template <typename Spec>
void SharedSubjects::ShareSpec(planner::SharedValue<Spec>* spec, Text* description,
                               Subjects<Spec>* subjects) {
  ShareText(description);
  *spec = subjects->try_emplace({(*spec)->name, &**description}, Subject<Spec>{*spec, *description})
              .first->second.spec;
}

void SharedSubjects::Share(HistoryEntry* entry) {
  ShareText(&entry->author);
  if (entry->action != ProfileAction::kRecord) return;
  planner::MeasuredProfile& profile = entry->rated.profile;
  ShareText(&entry->texts.framework);
  ShareText(&entry->texts.software);
  for (planner::StepMeasurement& step : profile.steps) {
    ShareText(&step.layer_version);
    ShareText(&step.model_version);
  }
  // Subjects that the catalogue does not know have only a name.
  if (entry->texts.known) {
    ShareSpec(&profile.model, &entry->texts.described_model, &models_);
    ShareSpec(&profile.gpu, &entry->texts.described_gpu, &gpus_);
  }
  if (size() >= full_) ForgetUnused();
}

// Subjects go first, because they use texts.
void SharedSubjects::ForgetUnused() {
  const auto unused = [](const auto& named) { return named.second.spec.alone(); };
  std::erase_if(models_, unused);
  std::erase_if(gpus_, unused);
  std::erase_if(texts_, [](const Text& text) { return text.alone(); });
  full_ = std::max(full_, 2 * size());
}

}  // namespace evenkeel::server
