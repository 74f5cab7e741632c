// `models`, `gpus` and `trainers`: the catalogue.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "client/cli/base/proto_json.h"
#include "client/cli/base/table.h"
#include "client/cli/commands/commands.h"
#include "client/cli/job/option_names.h"
#include "client/cli/render/fitting_table.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

const char* KindName(v1::ModelKind kind) {
  switch (kind) {
    case v1::MODEL_KIND_VISION_LANGUAGE:
      return "vision-language";
    case v1::MODEL_KIND_LANGUAGE:
      return "language";
    case v1::MODEL_KIND_ENCODER:
      return "encoder";
    default:
      return "?";
  }
}

std::string NoEntry(const std::string& what, const std::string& filter) {
  return fmt::format("No {} has \"{}\" in its name.\n", what, filter);
}

std::string LinkText(const v1::CatalogGpu& gpu) {
  if (gpu.scaleup_bytes_per_second() <= 0) return "-";
  return ByteRate(gpu.scaleup_bytes_per_second()) + (gpu.scaleup_pairs_only() ? " pairs" : "") +
         (gpu.scaleup_domain_gpus() > 0 ? " x" + std::to_string(gpu.scaleup_domain_gpus()) : "");
}

// Prints the table with `remark` below it.
void PrintTable(const GlobalOptions& options, const FittingTable& table, std::string remark) {
  const Style style = StyleOf(options);
  if (const std::string left_out = table.LeftOut(style); !left_out.empty())
    remark += " " + left_out;
  Print(table.Render(style) + Paragraph(style, remark, 0));
}

// Fetches all pages into one answer.
template <typename Request, typename Response, typename Call>
Response AllPages(Request request, Call call) {
  Response all = call(request);
  while (!all.next_page_token().empty()) {
    request.set_page_token(all.next_page_token());
    all.clear_next_page_token();
    all.MergeFrom(call(request));
  }
  return all;
}

void RunModels(const GlobalOptions& options, const std::string& filter) {
  v1::ListModelsRequest request;
  request.set_filter(filter);
  const auto backend = BackendOf(options);
  const auto response = AllPages<v1::ListModelsRequest, v1::ListModelsResponse>(
      request, [&](const auto& page) { return backend->ListModels(page); });
  if (options.json()) return Print(ToJson(response));
  if (response.models_size() == 0) return Print(NoEntry("model", filter));
  FittingTable table({{"model", Align::kLeft},
                      {"kind", Align::kLeft},
                      {"parameters"},
                      {"active"},
                      {"layers", Align::kRight, 4},
                      {"width", Align::kRight, 3},
                      {"tokens/unit", Align::kRight, 2},
                      {"plan", Align::kLeft, 5},
                      {"aliases", Align::kLeft, 1, /*wrap=*/true}});
  for (const v1::CatalogModel& model : response.models()) {
    const bool sparse = model.active_parameter_count() != model.parameter_count();
    table.Add({model.name(), KindName(model.kind()),
               BigCount(static_cast<double>(model.parameter_count())),
               sparse ? BigCount(static_cast<double>(model.active_parameter_count())) : "-",
               Integer(model.layers()), std::to_string(model.hidden_size()),
               model.llm_tokens_per_unit() > 0 ? std::to_string(model.llm_tokens_per_unit()) : "-",
               model.plannable() ? "yes" : "not yet", absl::StrJoin(model.aliases(), ", ")});
  }
  PrintTable(options, table,
             fmt::format("{}, catalogue {}. Plan one by name, a pair as ENCODER+LANGUAGE_MODEL, or "
                         "any other by its config.json.",
                         Counted(response.models_size(), "model"), response.catalog_version()));
}

void RunGpus(const GlobalOptions& options, const std::string& filter) {
  v1::ListGpuTypesRequest request;
  request.set_filter(filter);
  const auto backend = BackendOf(options);
  const auto response = AllPages<v1::ListGpuTypesRequest, v1::ListGpuTypesResponse>(
      request, [&](const auto& page) { return backend->ListGpuTypes(page); });
  if (options.json()) return Print(ToJson(response));
  if (response.gpus_size() == 0) return Print(NoEntry("GPU type", filter));
  FittingTable table({{"GPU", Align::kLeft},
                      {"TFLOP/s"},
                      {"GiB"},
                      {"memory"},
                      {"link"},
                      {"node", Align::kRight, 6},
                      {"PCIe", Align::kRight, 3},
                      {"watts", Align::kRight, 2},
                      {"bf16", Align::kLeft, 5},
                      {"kernels", Align::kLeft, 4},
                      {"aliases", Align::kLeft, 1, /*wrap=*/true}});
  for (const v1::CatalogGpu& gpu : response.gpus()) {
    table.Add({gpu.name(), Significant(gpu.dense_16bit_flops_per_second() / 1e12),
               Gib(gpu.memory_bytes()), ByteRate(gpu.memory_bytes_per_second()), LinkText(gpu),
               Integer(gpu.gpus_per_node()), ByteRate(gpu.pcie_bytes_per_second()),
               gpu.power_watts() > 0 ? Significant(gpu.power_watts()) : "-",
               gpu.bfloat16() ? "yes" : "no", gpu.measured_kernels() ? "measured" : "-",
               absl::StrJoin(gpu.aliases(), ", ")});
  }
  PrintTable(options, table,
             fmt::format("{}, catalogue {}. Dense 16-bit peak; link per direction (pairs: only "
                         "between two bridged cards); GPUs of a usual node.",
                         Counted(response.gpus_size(), "GPU type"), response.catalog_version()));
}

// Returns the pipelines that the trainer runs.
const char* PipelineName(const v1::CatalogTrainer& trainer) {
  if (!trainer.pipeline()) return "no";
  if (trainer.partition_method() != v1::PARTITION_METHOD_EXACT) return "1F1B, own cut";
  if (!trainer.interleaves()) return "1F1B";
  return trainer.cuts_encoder() ? "interleaved" : "whole encoder";
}

// Returns the ranks between which the trainer shares the images of a pack.
const char* ImagesName(v1::EncoderSplit split) {
  switch (split) {
    case v1::ENCODER_SPLIT_CONTEXT:
      return "context";
    case v1::ENCODER_SPLIT_ANY:
      return "any";
    default:
      return "-";
  }
}

// Names the states and tensors that a trainer can keep in host memory.
std::string OffloadName(const v1::OffloadAbility& able) {
  std::vector<const char*> names;
  const auto add = [&names](bool has, const char* name) {
    if (has) names.push_back(name);
  };
  add(able.optimizer_stages_size() > 0, "states");
  add(able.weights(), "weights");
  add(able.activations().all_kept(), "layers");
  add(able.activations().inputs(), "inputs");
  add(able.activations().modules_size() > 0, "modules");
  return names.empty() ? "-" : absl::StrJoin(names, ", ");
}

void RunTrainers(const GlobalOptions& options, const std::string& filter) {
  v1::ListTrainersRequest request;
  request.set_filter(filter);
  const auto backend = BackendOf(options);
  const auto response = AllPages<v1::ListTrainersRequest, v1::ListTrainersResponse>(
      request, [&](const auto& page) { return backend->ListTrainers(page); });
  if (options.json()) return Print(ToJson(response));
  if (response.trainers_size() == 0) return Print(NoEntry("trainer", filter));
  FittingTable table({{"trainer", Align::kLeft},
                      {"kind", Align::kLeft, 4},
                      {"ZeRO"},
                      {"kernels", Align::kRight, 6},
                      {"fused", Align::kLeft, 5},
                      {"recompute", Align::kLeft},
                      {"pipeline", Align::kLeft},
                      {"images", Align::kLeft, 3},
                      {"to host", Align::kLeft, 8},
                      {"fused step", Align::kLeft, 7},
                      {"runs", Align::kRight, 2},
                      {"source", Align::kLeft, 1, /*wrap=*/true}});
  for (const v1::CatalogTrainer& trainer : response.trainers()) {
    const v1::Execution& execution = trainer.execution();
    table.Add({trainer.name(), NameOf(kFrameworkNames, trainer.framework(), "?"),
               std::to_string(trainer.zero_stage() - v1::ZERO_STAGE_0),
               fmt::format("{:.2f}", execution.kernel_rate_ratio()),
               execution.fused_kernels() ? "yes" : "no",
               NameOf(kRecomputeNames, trainer.recompute(), "?"), PipelineName(trainer),
               ImagesName(trainer.encoder_split()), OffloadName(trainer.offload()),
               trainer.fused_step() ? "yes" : "no",
               trainer.fitted_run_count() > 0 ? Integer(trainer.fitted_run_count()) : "-",
               trainer.source()});
  }
  PrintTable(
      options, table,
      fmt::format(
          "{}. Plan for one with --trainer; any other name has the defaults of generic. Kernels: "
          "their speed relative to Megatron-Core's. Whole encoder: a model with an encoder keeps "
          "it "
          "on the first stage, without virtual stages. Own cut: the trainer chooses the layers of "
          "each stage, and you cannot. Images: which ranks share those of a pack (--encoder-dp). "
          "To "
          "host: what it can keep in host memory: optimizer states (--offload-optimizer), weights "
          "(--offload-weights), all that layers keep or the inputs of recomputed ones "
          "(--offload-activations), modules (--offload-modules). Fused step: --fused-step. Runs: "
          "the published ones on which its figures were fitted.",
          Counted(response.trainers_size(), "trainer")));
}

}  // namespace

void AddCatalogCommands(CLI::App* app, const GlobalOptions* options) {
  const auto filter = std::make_shared<std::string>();
  CLI::App* models = app->add_subcommand("models", "List the models of the catalogue");
  models->add_option("FILTER", *filter, "Only names that contain this");
  models->callback([=] { RunModels(*options, *filter); });

  CLI::App* gpus = app->add_subcommand("gpus", "List the GPU types of the catalogue");
  gpus->add_option("FILTER", *filter, "Only names that contain this");
  gpus->callback([=] { RunGpus(*options, *filter); });

  CLI::App* trainers =
      app->add_subcommand("trainers", "List the known trainers, and what each can do");
  trainers->add_option("FILTER", *filter, "Only names that contain this");
  trainers->callback([=] { RunTrainers(*options, *filter); });
}

}  // namespace evenkeel::cli
