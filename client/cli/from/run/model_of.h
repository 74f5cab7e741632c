// The model that arguments of Megatron-LM or names of torchtitan describe.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_MODEL_OF_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_MODEL_OF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// Sets the model of arguments that describe one. Returns false if they describe none.
bool SetModelOf(const UserConfig& config, v1::Job* job, std::vector<std::string>* assumed);

// Widths of a language model; 0 if they are not known here.
struct ModelWidths {
  int64_t hidden = 0, vocabulary = 0;
};
ModelWidths WidthsOf(const v1::Model& model);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_MODEL_OF_H_
