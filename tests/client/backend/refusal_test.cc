#include "client/cli/backend/refusal.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <set>
#include <string>

#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {
namespace {

TEST(RefusalTest, NamesTheFlagThatSetsTheField) {
  EXPECT_EQ(RefusalLine("job.cluster.pools[0].price_per_gpu_hour", "required"),
            "job.cluster.pools[0].price_per_gpu_hour (--price): required");
  EXPECT_EQ(RefusalLine("job.constraints.tensor_parallel.min", "too large"),
            "job.constraints.tensor_parallel.min (--tp): too large");
  EXPECT_EQ(RefusalLine("job.training.group_lengths[2]", "too short"),
            "job.training.group_lengths[2] (--group-lengths): too short");
}

TEST(RefusalTest, TheNearestFlagIsNamed) {
  EXPECT_EQ(RefusalLine("job.model.lora.rank", "too large"),
            "job.model.lora.rank (--lora-rank): too large");
  EXPECT_EQ(RefusalLine("job.model.lora", "not wanted"),
            "job.model.lora (--lora-rank, --lora-dropout, --lora-train, --lora-base): not wanted");
  EXPECT_EQ(RefusalLine("job.cluster.pools[0].host_memory_bytes_per_second", "x"),
            "job.cluster.pools[0].host_memory_bytes_per_second (--host-memory-gbytes): x");
}

TEST(RefusalTest, FieldsWithoutAFlagOfTheirOwnStandAlone) {
  EXPECT_EQ(RefusalLine("job.cluster.pools[1].gpu_type", "unknown"),
            "job.cluster.pools[1].gpu_type: unknown");
  EXPECT_EQ(RefusalLine("job.model.encoders[0].width", "required"),
            "job.model.encoders[0].width: required");
  EXPECT_EQ(RefusalLine("", "the message is too long"), "the message is too long");
}

// Returns whether the path leads to a field of the message.
bool IsField(const google::protobuf::Descriptor* message, std::string path) {
  for (size_t open = path.find('['); open != std::string::npos; open = path.find('['))
    path.erase(open, path.find(']') - open + 1);
  while (message != nullptr) {
    const size_t dot = path.find('.');
    const auto* field = message->FindFieldByName(path.substr(0, dot));
    if (field == nullptr) return false;
    if (dot == std::string::npos) return true;
    message = field->message_type();
    path.erase(0, dot + 1);
  }
  return false;
}

TEST(RefusalTest, FieldsAndFlagsExistAndNoFlagIsForgotten) {
  CLI::App app;
  JobFlags flags;
  AddJobFlags(&app, &flags);
  std::set<std::string> forgotten;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) forgotten.insert("--" + name);
  }
  const std::set<std::string> known = forgotten;
  for (const FlagOfField& entry : FlagsOfFields()) {
    EXPECT_TRUE(IsField(v1::PlanJobRequest::descriptor(), std::string(entry.field))) << entry.field;
    std::string rest(entry.flag);
    for (size_t at = 0; (at = rest.find("--", at)) != std::string::npos;) {
      const size_t end = std::min(rest.find_first_of(", ", at), rest.size());
      const std::string flag = rest.substr(at, end - at);
      EXPECT_TRUE(known.contains(flag)) << flag;
      forgotten.erase(flag);
      at = end;
    }
  }
  // These set no field of their own, are read before there is a request, or have two names.
  EXPECT_EQ(forgotten, (std::set<std::string>{"--dataset-shares", "--dataset-weights",
                                              "--framework", "--help", "--job", "--pool"}));
}

}  // namespace
}  // namespace evenkeel::cli
