// What many profiles of a history have in common, kept once.
#ifndef EVENKEEL_SERVER_CALIBRATION_SHARED_SUBJECTS_H_
#define EVENKEEL_SERVER_CALIBRATION_SHARED_SUBJECTS_H_

#include <map>
#include <string>

#include "planner/base/shared_value.h"
#include "planner/hardware/gpu_spec.h"
#include "planner/model/model_spec.h"
#include "server/convert/profile_bytes.h"

namespace evenkeel::server {

class SharedSubjects {
 public:
  // Gives `facts` the model and the GPU type, and the descriptions of them, that an earlier call
  // got, if they are the same.
  void Share(ProfileFacts* facts);

 private:
  template <typename Spec>
  struct Subject {
    planner::SharedValue<Spec> spec;
    planner::SharedValue<std::string> description;
  };
  template <typename Spec>
  using Subjects = std::map<std::string, Subject<Spec>>;  // by name and description

  template <typename Spec>
  static void ShareOne(planner::SharedValue<Spec>* spec,
                       planner::SharedValue<std::string>* description, Subjects<Spec>* subjects);

  Subjects<planner::ModelSpec> models_;
  Subjects<planner::GpuSpec> gpus_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_SHARED_SUBJECTS_H_
