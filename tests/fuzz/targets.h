// The code that hostile bytes reach, one function each. Fuzzers try to break these functions, and
// the replay test runs the inputs that they found.
#ifndef EVENKEEL_TESTS_FUZZ_TARGETS_H_
#define EVENKEEL_TESTS_FUZZ_TARGETS_H_

#include <google/protobuf/message.h>

#include <span>
#include <string_view>

namespace evenkeel::fuzz {

struct Target {
  const char* name;                     // also the name of its folder under corpus/
  void (*run)(std::string_view input);  // throws Broken (checks.h) if a promise is broken
  // Returns the type of message that the input serialises, or nullptr if the input is plain bytes.
  const google::protobuf::Message* (*prototype)();
};

std::span<const Target> Targets();

// Returns nullptr if no target has that name.
const Target* FindTarget(std::string_view name);

void EvaluateRequest(std::string_view input);  // EvaluatePlanRequest: checked, then predicted
void JobFile(std::string_view input);          // a job in JSON, as evenkeelctl reads it
void LengthFile(std::string_view input);       // sample lengths, all formats
void NcclOutput(std::string_view input);       // output of nccl-tests, as evenkeelctl reads it
void PackUploads(std::string_view input);      // PackDatasetRequests: an upload, packed
void PlanRecords(std::string_view input);      // a record of the plan store
void PlanRequest(std::string_view input);      // PlanJobRequest: checked, then planned for a while
void PolicyText(std::string_view input);       // a policy file
void ProfileCalls(std::string_view input);     // profiles recorded, listed, rolled back, read again
void ProfileRecords(std::string_view input);   // a record of the profile store
void SettingsText(std::string_view input);     // arguments and environment of the server

}  // namespace evenkeel::fuzz

#endif  // EVENKEEL_TESTS_FUZZ_TARGETS_H_
