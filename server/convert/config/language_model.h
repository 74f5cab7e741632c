// A language model from the values of its config.json.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_LANGUAGE_MODEL_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_LANGUAGE_MODEL_H_

#include "planner/model/model_spec.h"
#include "server/convert/config/architectures.h"
#include "server/convert/config/values.h"

namespace evenkeel::server {

// Returns the model, without name and training. It is of use only if `values` are valid then.
planner::LanguageModel ReadLanguageModel(ConfigValues& values,
                                         const ConfigArchitecture& architecture);

// Fills in the runs of layers. REQUIRES: the rest of the model was read, and is valid.
void ReadLayers(ConfigValues& values, const ConfigArchitecture& architecture,
                planner::LanguageModel& model);

// Returns how many layers a list or a pattern of single blocks names. 0: the config has neither.
int64_t BlocksListed(ConfigValues& values);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_LANGUAGE_MODEL_H_
