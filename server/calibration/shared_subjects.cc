#include "server/calibration/shared_subjects.h"

#include <cstddef>

namespace evenkeel::server {
namespace {

constexpr size_t kSubjectsAtMost = 256;  // of models, and of GPU types

}  // namespace

template <typename Spec>
void SharedSubjects::ShareOne(planner::SharedValue<Spec>* spec,
                              planner::SharedValue<std::string>* description,
                              Subjects<Spec>* subjects) {
  const std::string key = (*spec)->name + '\n' + **description;
  if (subjects->size() >= kSubjectsAtMost && subjects->find(key) == subjects->end())
    subjects->clear();
  const auto& subject = subjects->try_emplace(key, Subject<Spec>{*spec, *description}).first;
  *spec = subject->second.spec;
  *description = subject->second.description;
}

void SharedSubjects::Share(ProfileFacts* facts) {
  // What the catalogue does not know has a name only.
  if (!facts->known) return;
  ShareOne(&facts->profile.model, &facts->described_model, &models_);
  ShareOne(&facts->profile.gpu, &facts->described_gpu, &gpus_);
}

}  // namespace evenkeel::server
