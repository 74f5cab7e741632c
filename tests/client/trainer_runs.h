// Runs of Hugging Face Trainer as the texts of their files describe them.
#ifndef EVENKEEL_TESTS_CLIENT_TRAINER_RUNS_H_
#define EVENKEEL_TESTS_CLIENT_TRAINER_RUNS_H_

#include <string>
#include <vector>

#include "client/cli/from/run/user_run.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

// Returns the run of 8 GPUs, unless flags say otherwise, with packs of 8192 tokens and llama3-8b.
UserRun TrainerRun(const std::vector<std::string>& texts, JobFlags flags = {});

// Returns why the run is refused, or nothing.
std::string RefusalOf(const std::vector<std::string>& texts, const JobFlags& flags = {});

// Returns why a file is refused as it is read, or nothing.
std::string ReadingRefusal(const std::string& text, const std::string& path);

// Returns TrainingArguments, or an adapter_config.json of llama3-8b, with more keys.
std::string ArgumentsWith(const std::string& more);
std::string AdapterWith(const std::string& more);

// Returns whether a line of what is assumed contains `text`.
bool Assumes(const UserRun& run, const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_TESTS_CLIENT_TRAINER_RUNS_H_
