#include "server/convert/answer/catalog_to_proto.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "evenkeel/v1/catalog.pb.h"
#include "planner/base/name_search.h"
#include "planner/catalog/catalog.h"
#include "planner/hardware/gpu_costs.h"
#include "planner/hardware/gpus.h"
#include "planner/model/towers.h"
#include "planner/space/trainer_recompute.h"
#include "planner/trainer/trainers.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/config/published_models.h"
#include "server/convert/job/execution_from_proto.h"

namespace evenkeel::server {
namespace {

// Returns a page token: the catalogue's version and the index of the page's first entry, such as
// "2026.11.2/40". Another release has another list, so it refuses the token.
std::string TokenFor(size_t index) {
  return std::string(planner::kCatalogVersion) + "/" + std::to_string(index);
}

bool ReadToken(std::string_view token, size_t* index) {
  const std::string prefix = std::string(planner::kCatalogVersion) + "/";
  if (!token.starts_with(prefix)) return false;
  token.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), *index);
  return error == std::errc() && end == token.data() + token.size() && *index > 0;
}

// Copies the requested page of those entries that pass the request's filter into `*page`.
template <typename Request, typename Entry, typename Page, typename Response>
std::vector<Violation> FillPage(const Request& request, const std::vector<Entry>& entries,
                                Page* page, Response* response) {
  ViolationSink sink(kDefaultMaxViolations);
  CheckText(sink, FieldPath("filter"), request.filter());
  const int64_t size =
      CheckIntOr(sink, FieldPath("page_size"), request.page_size(), kPageSizes, kPageSizes.max);
  size_t first = 0;
  if (!request.page_token().empty() && !ReadToken(request.page_token(), &first)) {
    sink.Add(FieldPath("page_token"), "must be a next_page_token of catalogue " +
                                          std::string(planner::kCatalogVersion) +
                                          ", or unset, but is " + Quoted(request.page_token()));
  }
  if (sink.count() > 0) return sink.Take();

  const std::string filter = planner::LowerCase(request.filter());
  const auto matches = [&](const std::string& name) {
    return name.find(filter) != std::string::npos;
  };
  const size_t end = first + static_cast<size_t>(size);
  size_t found = 0;
  for (const Entry& entry : entries) {
    if (!matches(entry.name()) &&
        std::none_of(entry.aliases().begin(), entry.aliases().end(), matches))
      continue;
    if (found >= first && found < end) *page->Add() = entry;
    ++found;
  }
  if (end < found) response->set_next_page_token(TokenFor(end));
  response->set_catalog_version(std::string(planner::kCatalogVersion));
  return {};
}

template <typename Entry, typename Message>
void FillNames(const Entry& entry, Message* out) {
  out->set_name(entry.spec.name);
  for (const std::string& alias : entry.aliases) out->add_aliases(alias);
  out->set_source(entry.source);
}

v1::CatalogModel ModelOf(const planner::VisionLanguageEntry& entry) {
  const planner::ModelSpec& spec = entry.spec;
  const planner::LanguageModel& llm = spec.language_model;
  v1::CatalogModel out;
  FillNames(entry, &out);
  out.set_kind(v1::MODEL_KIND_VISION_LANGUAGE);
  out.set_plannable(true);
  out.set_layers(static_cast<int32_t>(planner::EncoderLayers(spec) + llm.layers));
  out.set_hidden_size(static_cast<int32_t>(llm.hidden));
  const int64_t parameters = planner::CountParameters(spec);
  out.set_parameter_count(parameters);
  out.set_active_parameter_count(parameters - planner::CountParameters(llm) +
                                 planner::CountActiveParameters(llm));
  out.set_llm_tokens_per_unit(static_cast<int32_t>(planner::LlmTokensPerUnit(spec)));
  out.add_components(entry.encoder);
  out.add_components(entry.language_model);
  return out;
}

template <typename Entry>
v1::CatalogModel ComponentOf(const Entry& entry, v1::ModelKind kind, int64_t active_parameters) {
  v1::CatalogModel out;
  FillNames(entry, &out);
  out.set_kind(kind);
  out.set_layers(static_cast<int32_t>(entry.spec.layers));
  out.set_hidden_size(static_cast<int32_t>(entry.spec.hidden));
  out.set_parameter_count(planner::CountParameters(entry.spec));
  out.set_active_parameter_count(active_parameters);
  out.set_published_parameter_count(entry.published_parameters);
  return out;
}

v1::CatalogModel ModelOf(const planner::LanguageModelEntry& entry) {
  v1::CatalogModel out =
      ComponentOf(entry, v1::MODEL_KIND_LANGUAGE, planner::CountActiveParameters(entry.spec));
  out.set_plannable(true);
  return out;
}

v1::CatalogModel ModelOf(const planner::EncoderEntry& entry) {
  v1::CatalogModel out =
      ComponentOf(entry, v1::MODEL_KIND_ENCODER, planner::CountParameters(entry.spec));
  out.set_plannable(true);
  out.set_llm_tokens_per_unit(static_cast<int32_t>(entry.spec.llm_tokens_per_unit));
  return out;
}

v1::CatalogModel ModelOf(const PublishedModel& model) {
  const planner::LanguageModel& llm = model.spec.language_model;
  v1::CatalogModel out;
  out.set_name(model.name);
  out.add_aliases(model.id);
  out.set_source(model.source);
  out.set_plannable(true);
  out.set_kind(model.spec.towers.empty() ? v1::MODEL_KIND_LANGUAGE
                                         : v1::MODEL_KIND_VISION_LANGUAGE);
  out.set_llm_tokens_per_unit(static_cast<int32_t>(planner::LlmTokensPerUnit(model.spec)));
  out.set_layers(static_cast<int32_t>(planner::EncoderLayers(model.spec) + llm.layers));
  out.set_hidden_size(static_cast<int32_t>(llm.hidden));
  const int64_t parameters = planner::CountParameters(model.spec);
  out.set_parameter_count(parameters);
  out.set_active_parameter_count(parameters - planner::CountParameters(llm) +
                                 planner::CountActiveParameters(llm));
  return out;
}

v1::CatalogGpu GpuOf(const planner::GpuEntry& entry) {
  const planner::GpuSpec& spec = entry.spec;
  v1::CatalogGpu out;
  FillNames(entry, &out);
  out.set_vendor(entry.vendor);
  out.set_dense_16bit_flops_per_second(spec.dense_16bit_flops);
  out.set_best_measured_16bit_flops_per_second(spec.best_measured_16bit_flops);
  out.set_memory_bytes(spec.memory_bytes);
  out.set_memory_bytes_per_second(spec.hbm_bytes_per_second);
  out.set_scaleup_bytes_per_second(spec.scaleup_bytes_per_second);
  out.set_pcie_bytes_per_second(spec.pcie_bytes_per_second);
  const planner::Basis basis = spec.costs.basis;
  out.set_measured_kernels(basis == planner::Basis::kFitted || basis == planner::Basis::kMeasured);
  out.set_uncertain(entry.uncertain);
  out.set_bfloat16(spec.bfloat16);
  out.set_scaleup_pairs_only(spec.scaleup_pairs_only);
  out.set_scaleup_domain_gpus(static_cast<int32_t>(spec.scaleup_domain_gpus));
  out.set_gpus_per_node(static_cast<int32_t>(spec.node_gpus));
  out.set_power_watts(spec.power_watts);
  return out;
}

std::vector<v1::CatalogModel> AllModels() {
  std::vector<v1::CatalogModel> models;
  for (const auto& entry : planner::VisionLanguageModels()) models.push_back(ModelOf(entry));
  for (const auto& entry : planner::LanguageModels()) models.push_back(ModelOf(entry));
  for (const auto& entry : planner::Encoders()) models.push_back(ModelOf(entry));
  for (const PublishedModel& model : PublishedModels()) models.push_back(ModelOf(model));
  std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) {
    return std::forward_as_tuple(a.kind(), a.name()) < std::forward_as_tuple(b.kind(), b.name());
  });
  return models;
}

std::vector<v1::CatalogGpu> AllGpus() {
  std::vector<v1::CatalogGpu> gpus;
  for (const auto& entry : planner::Gpus()) gpus.push_back(GpuOf(entry));
  std::sort(gpus.begin(), gpus.end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  return gpus;
}

// Fills in the trainer's offload to host memory, if it has any.
void FillOffload(const planner::Trainer& trainer, v1::CatalogTrainer* out) {
  for (const auto& [stage, zero] : {std::pair{planner::ZeroStage::kNone, v1::ZERO_STAGE_0},
                                    std::pair{planner::ZeroStage::kOptimizer, v1::ZERO_STAGE_1},
                                    std::pair{planner::ZeroStage::kGradients, v1::ZERO_STAGE_2},
                                    std::pair{planner::ZeroStage::kWeights, v1::ZERO_STAGE_3}}) {
    const planner::OffloadShares shares = planner::OffloadSharesOf(trainer, stage);
    if (trainer.always_shards_weights && stage != planner::ZeroStage::kWeights) continue;
    if (shares == planner::OffloadShares::kNone) continue;
    out->mutable_offload()->add_optimizer_stages(zero);
    out->mutable_offload()->set_optimizer_overlaps(trainer.offload.overlaps);
    if (shares == planner::OffloadShares::kAny)
      out->mutable_offload()->add_optimizer_share_stages(zero);
  }
  if (trainer.offload.weights) out->mutable_offload()->set_weights(true);
  const planner::ActivationAbility& able = trainer.activations;
  if (!able.offloads()) return;
  v1::ActivationAbility* to = out->mutable_offload()->mutable_activations();
  to->set_all_kept(able.kept);
  to->set_inputs(able.inputs);
  to->set_any_count(able.any_count);
  to->set_all_layers(able.all_layers);
  to->set_pipeline(able.pipeline);
  to->set_experts(able.experts);
  for (const auto& choice : kOffloadModules)
    if ((able.modules & choice.ours) != 0) to->add_modules(choice.theirs);
}

std::vector<v1::CatalogTrainer> AllTrainers() {
  std::vector<v1::CatalogTrainer> trainers;
  for (const planner::Trainer& trainer : planner::Trainers()) {
    v1::CatalogTrainer& out = trainers.emplace_back();
    out.set_name(std::string(trainer.name));
    if (!trainer.alias.empty()) out.add_aliases(std::string(trainer.alias));
    out.set_framework(ToProto(kFrameworks, trainer.framework));
    out.set_zero_stage(ToProto(kZeroStages, trainer.zero_stage));
    ExecutionToProto(planner::DefaultExecution(trainer, trainer.zero_stage),
                     out.mutable_execution());
    out.set_source(std::string(trainer.source));
    out.set_fitted_run_count(trainer.fitted_runs);
    out.set_recompute(ToProto(kRecomputePolicies, planner::FreestRecompute(trainer)));
    out.set_pipeline(trainer.pipeline);
    out.set_interleaves(trainer.pipeline && trainer.interleaves);
    out.set_cuts_encoder(trainer.pipeline && trainer.cuts_encoder);
    out.set_encoder_split(ToProto(kEncoderSplits, trainer.encoder_split));
    FillOffload(trainer, &out);
    out.set_partition_method(ToProto(kPartitionMethods, trainer.partition_method));
    out.set_fused_step(trainer.fused_step != planner::FusedStep::kNone);
  }
  std::sort(trainers.begin(), trainers.end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  return trainers;
}

}  // namespace

std::vector<Violation> ListTrainers(const v1::ListTrainersRequest& request,
                                    v1::ListTrainersResponse* out) {
  static const std::vector<v1::CatalogTrainer> all = AllTrainers();
  return FillPage(request, all, out->mutable_trainers(), out);
}

std::vector<Violation> ListModels(const v1::ListModelsRequest& request,
                                  v1::ListModelsResponse* out) {
  static const std::vector<v1::CatalogModel> all = AllModels();
  return FillPage(request, all, out->mutable_models(), out);
}

std::vector<Violation> ListGpuTypes(const v1::ListGpuTypesRequest& request,
                                    v1::ListGpuTypesResponse* out) {
  static const std::vector<v1::CatalogGpu> all = AllGpus();
  return FillPage(request, all, out->mutable_gpus(), out);
}

}  // namespace evenkeel::server
