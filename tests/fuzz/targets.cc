#include "tests/fuzz/targets.h"

#include "evenkeel/v1/planner_service.pb.h"
#include "inputs.pb.h"

namespace evenkeel::fuzz {
namespace {

template <typename Message>
const google::protobuf::Message* Of() {
  return &Message::default_instance();
}

// CMakeLists.txt reads the names here and makes one program for each.
constexpr Target kTargets[] = {
    {"evaluate_plan", &EvaluateRequest, &Of<v1::EvaluatePlanRequest>},
    {"job_file", &JobFile, nullptr},
    {"length_file", &LengthFile, nullptr},
    {"nccl_output", &NcclOutput, nullptr},
    {"pack_dataset", &PackUploads, &Of<Upload>},
    {"plan_job", &PlanRequest, &Of<v1::PlanJobRequest>},
    {"plan_record", &PlanRecords, nullptr},
    {"policy", &PolicyText, nullptr},
    {"profile_calls", &ProfileCalls, &Of<Calls>},
    {"profile_record", &ProfileRecords, nullptr},
    {"settings", &SettingsText, nullptr},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

const Target* FindTarget(std::string_view name) {
  for (const Target& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace evenkeel::fuzz
