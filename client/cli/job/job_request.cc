// Makes a request from flags: the second half of job_flags.h.
#include <fmt/format.h>
#include <algorithm>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/exit_codes.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/dataset/histogram.h"
#include "client/cli/dataset/length_files.h"
#include "client/cli/job/job_flags.h"
#include "client/cli/job/offload_request.h"
#include "client/cli/job/option_names.h"

namespace evenkeel::cli {
namespace {

// The server accepts messages of up to 1 MiB. They are longer as JSON.
constexpr size_t kMaxJobFile = size_t{8} << 20;
constexpr size_t kMaxConfigFile = size_t{64} << 10;

[[noreturn]] void Fail(const std::string& message) {
  throw CommandError(ExitCode::kBadInput, message);
}

// Returns whether the file is a PlanJobRequest: it has any of that message's fields at its top
// level. Otherwise it is a Job.
bool IsRequest(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;  // the Job parser reports what is wrong
  const auto* descriptor = v1::PlanJobRequest::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    if (json.contains(descriptor->field(i)->name())) return true;
    if (json.contains(descriptor->field(i)->json_name())) return true;
  }
  return false;
}

v1::PlanJobRequest ReadJobFile(const std::string& path) {
  v1::PlanJobRequest request;
  const std::string text = ReadWholeFile(path, kMaxJobFile);
  const std::string name = path == "-" ? "standard input" : path;
  if (IsRequest(text)) {
    FromJson(text, name, &request);
  } else {
    FromJson(text, name, request.mutable_job());
  }
  return request;
}

int32_t ParseDegree(const std::string& flag, const std::string& text) {
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 65536) {
    Fail(fmt::format("{}: \"{}\" is not a degree: give N or MIN:MAX, each from 1 to 65536", flag,
                     text));
  }
  return value;
}

void SetDegree(const std::string& flag, const std::string& text, v1::DegreeRange* range) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    range->set_min(ParseDegree(flag, text));
    range->set_max(range->min());
    return;
  }
  // Either end may be left open, as in "2:" or ":8".
  range->Clear();
  if (colon > 0) range->set_min(ParseDegree(flag, text.substr(0, colon)));
  if (colon + 1 < text.size()) range->set_max(ParseDegree(flag, text.substr(colon + 1)));
}

std::string PartName(const std::string& path, std::set<std::string>* used) {
  std::string stem = path.substr(path.find_last_of('/') + 1);
  const size_t dot = stem.find_last_of('.');
  if (dot != std::string::npos && dot > 0) stem.resize(dot);
  if (stem.size() > 100) stem.resize(100);
  std::string name = stem;
  for (int i = 2; !used->insert(name).second; ++i) name = fmt::format("{}-{}", stem, i);
  return name;
}

v1::Histogram HistogramOf(const std::string& path) {
  const LengthCounts counts = ReadLengthFiles({path});
  return BinLengths(counts.Sorted(), kMaxHistogramBytes, counts.encoders()).histogram;
}

void SetDatasets(const std::vector<std::string>& paths, v1::Dataset* dataset) {
  dataset->Clear();
  if (paths.size() == 1) {
    *dataset->mutable_histogram() = HistogramOf(paths.front());
    return;
  }
  std::set<std::string> used;
  for (const std::string& path : paths) {
    v1::DatasetPart* part = dataset->add_parts();
    part->set_name(PartName(path, &used));
    *part->mutable_histogram() = HistogramOf(path);
  }
}

void SetMix(const JobFlags& flags, v1::Dataset* dataset) {
  const auto set = [&](const char* flag, const std::vector<double>& values, auto setter) {
    if (values.empty()) return;
    if (values.size() != static_cast<size_t>(dataset->parts_size()))
      Fail(
          fmt::format("{} has {} numbers, but there are {} parts of the dataset: give one for each "
                      "--dataset, of which there must be several",
                      flag, values.size(), dataset->parts_size()));
    for (size_t i = 0; i < values.size(); ++i)
      setter(dataset->mutable_parts(static_cast<int>(i)), values[i]);
  };
  set("--dataset-weights", flags.dataset_weights,
      [](v1::DatasetPart* part, double value) { part->set_weight(value); });
  set("--dataset-shares", flags.dataset_shares,
      [](v1::DatasetPart* part, double value) { part->set_share(value); });
}

// Reads all of `text` as a number.
template <typename Number>
bool ReadNumber(const std::string& text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

void SetFabric(const JobFlags& flags, v1::GpuPool* pool) {
  if (flags.network_fabric == "rdma") pool->set_network_fabric(v1::NETWORK_FABRIC_RDMA);
  if (flags.network_fabric == "efa") pool->set_network_fabric(v1::NETWORK_FABRIC_EFA);
}

void SetHost(const JobFlags& flags, v1::GpuPool* pool) {
  if (flags.host_memory_gib)
    pool->set_host_memory_bytes(std::llround(*flags.host_memory_gib * (1 << 30)));
  if (flags.host_link_gbytes) pool->set_host_link_bytes_per_second(*flags.host_link_gbytes * 1e9);
  if (flags.host_memory_gbytes)
    pool->set_host_memory_bytes_per_second(*flags.host_memory_gbytes * 1e9);
}

// Returns the tier, with those before it.
v1::NetworkTier* Tier(v1::GpuPool* pool, int number) {
  while (pool->network_tiers_size() <= number) pool->add_network_tiers();
  return pool->mutable_network_tiers(number);
}

void SetTiers(const JobFlags& flags, v1::GpuPool* pool) {
  if (flags.domain_gpus) Tier(pool, 0)->set_gpu_count(*flags.domain_gpus);
  if (flags.usable_domain_gpus) Tier(pool, 0)->set_usable_gpu_count(*flags.usable_domain_gpus);
  if (!flags.pod_gpus) return;
  Tier(pool, 1)->set_gpu_count(*flags.pod_gpus);
  Tier(pool, 2);
  if (flags.oversubscription) Tier(pool, 2)->set_oversubscription_ratio(*flags.oversubscription);
}

// Adds a pool, such as "h100-sxm-80gb:16,32@4.50", with the nodes that the flags describe.
void AddPool(const std::string& text, const JobFlags& flags, v1::Cluster* cluster) {
  const auto fail = [&] {
    Fail(fmt::format(
        "--pool: \"{}\" is not TYPE:N[,N...][@PRICE], such as h100-sxm-80gb:16,32@4.50", text));
  };
  v1::GpuPool* pool = cluster->add_pools();
  const size_t colon = text.find(':'), at = text.find('@');
  if (colon == std::string::npos || colon == 0 || (at != std::string::npos && at < colon)) fail();
  pool->set_gpu_type(text.substr(0, colon));
  std::istringstream counts(text.substr(colon + 1, at == std::string::npos ? at : at - colon - 1));
  std::vector<int32_t> numbers;
  for (std::string number; std::getline(counts, number, ',');) {
    numbers.emplace_back();
    if (!ReadNumber(number, &numbers.back()) || numbers.back() < 1) fail();
  }
  if (numbers.empty()) fail();
  if (numbers.size() == 1) {
    pool->set_gpu_count(numbers.front());
  } else {
    pool->mutable_gpu_counts()->Assign(numbers.begin(), numbers.end());
  }
  double price = 0;
  if (at != std::string::npos) {
    if (!ReadNumber(text.substr(at + 1), &price) || !(price >= 0)) fail();
    pool->set_price_per_gpu_hour(price);
  }
  if (flags.gpus_per_node) pool->set_gpus_per_node(*flags.gpus_per_node);
  SetTiers(flags, pool);
  SetFabric(flags, pool);
  if (flags.inter_node_gbps)
    pool->set_inter_node_bytes_per_second(*flags.inter_node_gbps * 1e9 / 8);
  if (flags.reserve_gib) pool->set_reserved_bytes(std::llround(*flags.reserve_gib * (1 << 30)));
  SetHost(flags, pool);
}

void SetCluster(const JobFlags& flags, v1::Cluster* cluster) {
  const auto pool = [&] {
    return cluster->pools_size() == 0 ? cluster->add_pools() : cluster->mutable_pools(0);
  };
  if (!flags.gpu.empty()) {
    pool()->clear_gpu();
    pool()->set_gpu_type(flags.gpu);
  }
  if (flags.gpus.size() == 1) {
    pool()->clear_gpu_counts();
    pool()->set_gpu_count(flags.gpus.front());
  } else if (flags.gpus.size() > 1) {
    pool()->clear_gpu_count();
    pool()->mutable_gpu_counts()->Assign(flags.gpus.begin(), flags.gpus.end());
  }
  if (flags.gpus_per_node) pool()->set_gpus_per_node(*flags.gpus_per_node);
  if (flags.domain_gpus || flags.usable_domain_gpus || flags.pod_gpus) SetTiers(flags, pool());
  if (!flags.network_fabric.empty()) SetFabric(flags, pool());
  if (flags.inter_node_gbps) {
    pool()->set_inter_node_bytes_per_second(*flags.inter_node_gbps * 1e9 / 8);
  }
  if (flags.intra_node_gbytes) {
    pool()->set_intra_node_bytes_per_second(*flags.intra_node_gbytes * 1e9);
  }
  if (flags.reserve_gib) {
    pool()->set_reserved_bytes(std::llround(*flags.reserve_gib * (1 << 30)));
  }
  if (flags.host_memory_gib || flags.host_link_gbytes || flags.host_memory_gbytes)
    SetHost(flags, pool());
  if (flags.power_limit) pool()->set_power_limit_watts(*flags.power_limit);
  if (flags.price) pool()->set_price_per_gpu_hour(*flags.price);
  for (const std::string& text : flags.pools) AddPool(text, flags, cluster);
}

void SetObjective(const JobFlags& flags, v1::Job* job) {
  if (!flags.objective.empty())
    job->mutable_objective()->set_kind(ValueOf(kObjectiveNames, flags.objective));
  if (flags.deadline_hours) {
    if (flags.objective.empty()) job->mutable_objective()->set_kind(v1::OBJECTIVE_KIND_FEWEST_GPUS);
    job->mutable_objective()->set_deadline_seconds(*flags.deadline_hours * 3600);
  }
  const auto reliability = [job] { return job->mutable_reliability(); };
  if (flags.mtbf_hours)
    reliability()->set_node_mean_time_between_failures_seconds(*flags.mtbf_hours * 3600);
  if (flags.checkpoint_gbytes)
    reliability()->set_checkpoint_bytes_per_second(*flags.checkpoint_gbytes * 1e9);
  if (flags.restart_seconds) reliability()->set_restart_seconds(*flags.restart_seconds);
  if (flags.checkpoint_interval_seconds)
    reliability()->set_checkpoint_interval_seconds(*flags.checkpoint_interval_seconds);
}

// Returns the config.json that --model names: itself, or one in that folder. Returns an empty path
// if there is no such file; then it is a name.
std::filesystem::path ConfigPath(const std::string& model) {
  std::error_code ignored;  // a name may be no path at all
  const std::filesystem::path path(model), inside = path / "config.json";
  if (std::filesystem::is_regular_file(path, ignored)) return path;
  if (std::filesystem::is_regular_file(inside, ignored)) return inside;
  return {};
}

// Returns the name of a model given by its config: its folder's or its file's name.
std::string LabelOf(const std::filesystem::path& config) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(config, ignored);
  const std::filesystem::path name =
      whole.filename() == "config.json" ? whole.parent_path().filename() : whole.stem();
  return name.string().substr(0, 100) + " (config.json)";
}

void SetTrainMode(const std::string& component, v1::TrainMode mode, v1::Model* model) {
  if (component == "encoder") {
    model->set_encoder_train_mode(mode);
  } else {
    model->set_language_model_train_mode(mode);
  }
}

void SetModel(const JobFlags& flags, v1::Job* job) {
  if (!flags.model.empty()) {
    v1::Model* model = job->mutable_model();
    model->clear_encoders();
    model->clear_language_model();
    model->clear_config_json();
    model->clear_predicted_tokens();
    model->clear_name();
    const std::filesystem::path config = ConfigPath(flags.model);
    if (!config.empty()) {
      model->set_config_json(ReadWholeFile(config.string(), kMaxConfigFile));
      if (model->config_json().empty()) Fail("--model " + config.string() + " is an empty file");
      model->set_name(LabelOf(config));
    } else if (flags.model.ends_with(".json")) {
      Fail("--model " + flags.model + ": there is no such file");
    } else if (std::error_code ignored; std::filesystem::is_directory(flags.model, ignored)) {
      Fail("--model " + flags.model + ": the folder has no config.json");
    } else {
      model->set_name(flags.model);
    }
  }
  if (flags.predicted_tokens) job->mutable_model()->set_predicted_tokens(*flags.predicted_tokens);
  for (const std::string& component : flags.freeze) {
    if (std::count(flags.lora.begin(), flags.lora.end(), component) > 0)
      Fail("--freeze and --lora both name " + component + ": adapters train beside frozen weights");
    SetTrainMode(component, v1::TRAIN_MODE_FROZEN, job->mutable_model());
  }
  for (const std::string& component : flags.lora)
    SetTrainMode(component, v1::TRAIN_MODE_LORA, job->mutable_model());
  if (flags.lora_rank) job->mutable_model()->mutable_lora()->set_rank(*flags.lora_rank);
  if (flags.lora_dropout)
    job->mutable_model()->mutable_lora()->set_dropout_ratio(*flags.lora_dropout);
  for (const std::string& part : flags.lora_train) {
    v1::Lora* lora = job->mutable_model()->mutable_lora();
    part == "head" ? lora->set_train_head(true) : lora->set_train_embedding(true);
  }
  if (!flags.lora_base.empty())
    job->mutable_model()->mutable_lora()->set_base_format(
        ValueOf(kFrozenFormatNames, flags.lora_base));
}

void SetTraining(const JobFlags& flags, v1::Job* job) {
  if (flags.global_batch) job->mutable_training()->set_global_batch_samples(*flags.global_batch);
  if (flags.unit_cap) job->mutable_training()->set_unit_cap(*flags.unit_cap);
  if (flags.token_cap) job->mutable_training()->set_token_cap(*flags.token_cap);
  if (flags.micro_batch_samples)
    job->mutable_training()->set_micro_batch_samples(*flags.micro_batch_samples);
  if (flags.pad_to) job->mutable_training()->mutable_padding()->set_tokens(*flags.pad_to);
  if (flags.pad_multiple)
    job->mutable_training()->mutable_padding()->set_multiple(*flags.pad_multiple);
  if (flags.group_by_length) job->mutable_training()->set_group_by_length(true);
  if (flags.epochs) job->mutable_training()->set_epochs(*flags.epochs);
  if (flags.seed) job->mutable_training()->set_seed(*flags.seed);
  if (flags.zero_group) job->mutable_training()->set_zero_group(*flags.zero_group);
  if (!flags.fused_step.empty()) job->mutable_training()->set_fused_step(flags.fused_step == "on");
  if (!flags.overlap_tensor.empty())
    job->mutable_training()->mutable_execution()->set_overlap_tensor(flags.overlap_tensor == "on");
  if (!flags.overlap_experts.empty())
    job->mutable_training()->mutable_execution()->set_overlap_experts(flags.overlap_experts ==
                                                                      "on");
  if (flags.gradients == "fp32")
    job->mutable_training()->set_gradient_precision(v1::GRADIENT_PRECISION_FP32);
  if (flags.gradients == "16bit")
    job->mutable_training()->set_gradient_precision(v1::GRADIENT_PRECISION_16BIT);
  SetOffload(flags, job);
  if (!flags.optimizer.empty())
    job->mutable_training()->set_optimizer(ValueOf(kOptimizerNames, flags.optimizer));
  if (!flags.precision.empty())
    job->mutable_training()->set_precision(ValueOf(kPrecisionNames, flags.precision));
  const auto execution = [job] { return job->mutable_training()->mutable_execution(); };
  if (!flags.expert_dispatcher.empty())
    execution()->set_expert_dispatcher(ValueOf(kDispatcherNames, flags.expert_dispatcher));
  if (flags.start_layers_16bit) execution()->set_start_layers_16bit(*flags.start_layers_16bit);
  if (flags.end_layers_16bit) execution()->set_end_layers_16bit(*flags.end_layers_16bit);
  if (!flags.framework.empty())
    job->mutable_training()->set_framework(ValueOf(kFrameworkNames, flags.framework));
  if (!flags.trainer.empty()) {
    const size_t at = std::min(flags.trainer.find('@'), flags.trainer.size());
    v1::Trainer* trainer = job->mutable_training()->mutable_trainer();
    trainer->set_name(flags.trainer.substr(0, at));
    trainer->set_version(flags.trainer.substr(std::min(at + 1, flags.trainer.size())));
  }
  if (flags.zero) {
    // ZERO_STAGE_0 is 1 and so on; ZERO_STAGE_3 is 4.
    job->mutable_training()->set_zero_stage(static_cast<v1::ZeroStage>(*flags.zero + 1));
  }
}

void SetGroups(const JobFlags& flags, v1::Job* job) {
  if (!flags.groups.empty())
    job->mutable_training()->set_group_selection(ValueOf(kGroupSelectionNames, flags.groups));
  if (!flags.group_lengths.empty()) {
    job->mutable_training()->mutable_group_lengths()->Assign(flags.group_lengths.begin(),
                                                             flags.group_lengths.end());
  }
  if (flags.curriculum) job->mutable_training()->set_curriculum_steps(*flags.curriculum);
  if (flags.context_exchange.empty()) return;
  job->mutable_training()->mutable_execution()->set_context_exchange(
      ValueOf(kContextExchangeNames, flags.context_exchange));
}

void SetConstraints(const JobFlags& flags, v1::Job* job) {
  const auto constraints = [job] { return job->mutable_constraints(); };
  if (!flags.tensor.empty()) {
    SetDegree("--tp", flags.tensor, constraints()->mutable_tensor_parallel());
  }
  if (!flags.pipeline.empty()) {
    SetDegree("--pp", flags.pipeline, constraints()->mutable_pipeline_parallel());
  }
  if (!flags.data.empty()) SetDegree("--dp", flags.data, constraints()->mutable_data_parallel());
  if (!flags.context.empty())
    SetDegree("--cp", flags.context, constraints()->mutable_context_parallel());
  if (!flags.expert.empty())
    SetDegree("--ep", flags.expert, constraints()->mutable_expert_parallel());
  if (!flags.encoder_data.empty())
    SetDegree("--encoder-dp", flags.encoder_data, constraints()->mutable_encoder_data_parallel());
  if (!flags.virtual_stages.empty())
    SetDegree("--virtual-stages", flags.virtual_stages, constraints()->mutable_virtual_stages());
  if (!flags.schedule.empty()) constraints()->set_schedule(ValueOf(kScheduleNames, flags.schedule));
  if (!flags.partition.empty())
    constraints()->set_partition_method(ValueOf(kPartitionNames, flags.partition));
  if (!flags.stage_layers.empty()) {
    constraints()->mutable_stage_layers()->Assign(flags.stage_layers.begin(),
                                                  flags.stage_layers.end());
  }
  if (flags.memory_confidence) constraints()->set_memory_confidence_ratio(*flags.memory_confidence);
  if (!flags.recompute.empty())
    constraints()->set_recompute(ValueOf(kRecomputeNames, flags.recompute));
}

void CheckComplete(const JobFlags& flags) {
  if (!flags.job_file.empty()) return;
  std::string missing;
  if (flags.model.empty()) missing += " --model";
  const bool offered = !flags.pools.empty() && flags.gpu.empty() && flags.gpus.empty();
  if (flags.gpu.empty() && !offered) missing += " --gpu";
  if (flags.gpus.empty() && !offered && !flags.sizes_apart) missing += " --gpus";
  if (missing.empty()) return;
  Fail(
      fmt::format("a job needs{} (or --job FILE, a file that describes it), as in\n  evenkeelctl "
                  "plan --local --model internvl-chat-v1.5 --gpu a100-sxm-80gb --gpus 32",
                  missing));
}

}  // namespace

v1::PlanJobRequest RequestFromFlags(const JobFlags& flags) {
  CheckComplete(flags);
  return PartialRequestFromFlags(flags);
}

v1::PlanJobRequest PartialRequestFromFlags(const JobFlags& flags) {
  v1::PlanJobRequest request;
  if (!flags.job_file.empty()) request = ReadJobFile(flags.job_file);
  v1::Job* job = request.mutable_job();
  SetModel(flags, job);
  if (!flags.datasets.empty()) SetDatasets(flags.datasets, job->mutable_dataset());
  if (!flags.dataset_weights.empty() || !flags.dataset_shares.empty())
    SetMix(flags, job->mutable_dataset());
  SetCluster(flags, job->mutable_cluster());
  SetTraining(flags, job);
  SetGroups(flags, job);
  SetConstraints(flags, job);
  SetObjective(flags, job);
  if (!flags.label.empty()) request.set_label(flags.label);
  if (flags.compare_sizes) request.set_compare_sizes(true);
  if (flags.compare_precisions) request.set_compare_precisions(true);
  if (flags.alternatives) request.set_max_alternatives(*flags.alternatives);
  return request;
}

}  // namespace evenkeel::cli
