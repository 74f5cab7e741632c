// Remedies of a misfit, as flags.
#include <gtest/gtest.h>

#include <string>

#include "client/cli/render/plan.h"

namespace evenkeel::cli {
namespace {

std::string NextCommands(const v1::Remedy& remedy, const CommandLine& command) {
  v1::Plan plan;
  *plan.mutable_misfit()->add_remedies() = remedy;
  return RenderNextCommands({.width = 1000}, plan, command);
}

TEST(RemedyFlagsTest, EveryKindHasThem) {
  // A remedy with every field, on a command with every flag that a remedy drops.
  v1::Remedy remedy;
  remedy.set_gpu_count(64);
  remedy.set_unit_cap(8);
  remedy.set_token_cap(4096);
  remedy.set_gpu_type("h200");
  remedy.add_stage_layers(12);
  remedy.add_stage_layers(13);
  remedy.set_micro_batch_samples(2);
  remedy.set_global_batch_samples(256);
  remedy.set_precision(v1::PRECISION_FP8);
  remedy.set_host_memory_bytes(int64_t{1024} << 30);
  const CommandLine command({"evenkeelctl", "plan", "--tp", "2", "--cp", "2", "--ep", "2",
                             "--schedule", "1f1b", "--partition", "bmp"});
  const auto* const kinds = v1::RemedyKind_descriptor();
  for (int i = 0; i < kinds->value_count(); ++i) {
    remedy.set_kind(static_cast<v1::RemedyKind>(kinds->value(i)->number()));
    const bool has =
        NextCommands(remedy, command).find("with the first of these changes") != std::string::npos;
    EXPECT_EQ(has, remedy.kind() != v1::REMEDY_KIND_UNSPECIFIED) << kinds->value(i)->name();
  }
}

TEST(RemedyFlagsTest, AreSetDroppedOrReplaced) {
  const CommandLine command({"evenkeelctl", "plan", "--tp", "2", "--partition", "bmp"});
  const auto has = [&](const v1::Remedy& remedy, const std::string& line) {
    const std::string text = NextCommands(remedy, command);
    return text.find("\n  evenkeelctl plan" + line + "\n") != std::string::npos;
  };
  v1::Remedy remedy;
  remedy.set_kind(v1::REMEDY_KIND_SMALLER_CAPS);
  remedy.set_token_cap(4096);
  EXPECT_TRUE(has(remedy, " --tp 2 --partition bmp --token-cap 4096"));
  remedy.set_kind(v1::REMEDY_KIND_FREE_DEGREES);
  EXPECT_TRUE(has(remedy, ""));
  remedy.set_kind(v1::REMEDY_KIND_OFFLOAD_WEIGHTS);
  EXPECT_TRUE(has(remedy, " --tp 2 --partition bmp --offload-weights"));
  remedy.set_kind(v1::REMEDY_KIND_STAGE_LAYERS);
  remedy.add_stage_layers(12);
  remedy.add_stage_layers(13);
  EXPECT_TRUE(has(remedy, " --tp 2 --stage-layers 12,13"));
}

}  // namespace
}  // namespace evenkeel::cli
