// Models, GPU types and texts that many profiles of a history share. Each is kept once.
#ifndef EVENKEEL_SERVER_CALIBRATION_SHARED_SUBJECTS_H_
#define EVENKEEL_SERVER_CALIBRATION_SHARED_SUBJECTS_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "planner/base/shared_value.h"
#include "planner/hardware/gpu_spec.h"
#include "planner/model/model_spec.h"
#include "server/convert/profile/profile_to_proto.h"

namespace evenkeel::server {

class SharedSubjects {
 public:
  // Gives `entry` the model, the GPU type and the texts that an earlier entry got, if they are the
  // same. Notes are not shared: most differ.
  void Share(HistoryEntry* entry);

  // Returns the number of values that later entries may be given.
  size_t size() const { return texts_.size() + models_.size() + gpus_.size(); }

 private:
  using Text = planner::SharedValue<std::string>;
  struct ByText {
    bool operator()(const Text& a, const Text& b) const { return *a < *b; }
  };
  template <typename Spec>
  struct Subject {
    planner::SharedValue<Spec> spec;
    Text description;
  };
  // By name and address of the description, which the subject keeps.
  template <typename Spec>
  using Subjects = std::map<std::pair<std::string, const std::string*>, Subject<Spec>>;

  void ShareText(Text* text);
  template <typename Spec>
  void ShareSpec(planner::SharedValue<Spec>* spec, Text* description, Subjects<Spec>* subjects);
  void ForgetUnused();

  std::set<Text, ByText> texts_;
  Subjects<planner::ModelSpec> models_;
  Subjects<planner::GpuSpec> gpus_;
  size_t full_ = 256;  // number of values at which those that no entry uses are forgotten
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_SHARED_SUBJECTS_H_
