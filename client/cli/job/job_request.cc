// Makes a request from flags. job_options.cc sets what a flag sets by itself.
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/command_error.h"
#include "client/cli/base/parse_number.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/dataset/histogram.h"
#include "client/cli/dataset/length_files.h"
#include "client/cli/job/job_flags.h"
#include "client/cli/job/job_options.h"
#include "client/cli/job/offload_request.h"
#include "client/cli/job/option_names.h"
#include "client/cli/job/priced.h"

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
  const auto set = [&](const char* flag, const std::vector<double>& values,
                       void (v1::DatasetPart::*setter)(double)) {
    if (values.empty()) return;
    if (values.size() != static_cast<size_t>(dataset->parts_size()))
      Fail(
          fmt::format("{} has {} numbers, but there are {} parts of the dataset: give one for each "
                      "--dataset, of which there must be several",
                      flag, values.size(), dataset->parts_size()));
    for (size_t i = 0; i < values.size(); ++i)
      (dataset->mutable_parts(static_cast<int>(i))->*setter)(values[i]);
  };
  set("--dataset-weights", flags.dataset_weights, &v1::DatasetPart::set_weight);
  set("--dataset-shares", flags.dataset_shares, &v1::DatasetPart::set_share);
}

void SetOptions(const std::vector<JobOption>& options, const JobFlags& flags, v1::Job* job) {
  for (const JobOption& option : options)
    if (option.value.set) option.value.set(option, flags, job);
}

// Clears the fields that belong to the first pool's GPU type.
void ClearOwnFigures(v1::GpuPool* pool) {
  pool->clear_intra_node_bytes_per_second();
  pool->clear_power_limit_watts();
  pool->clear_price_per_gpu_hour();
}

// Describes the nodes of a pool, without figures of the first pool's GPU type.
void DescribeNodes(const JobFlags& flags, v1::GpuPool* pool) {
  v1::Job job;
  SetOptions(PoolOptions(), flags, &job);
  *pool = *PartOf<v1::GpuPool>(&job);
  ClearOwnFigures(pool);
}

[[noreturn]] void FailPool(const std::string& text) {
  Fail(fmt::format("--pool: \"{}\" is not TYPE:N[,N...][@PRICE], such as h100-sxm-80gb:16,32@4.50",
                   text));
}

// Adds a pool, such as "h100-sxm-80gb:16,32@4.50", with the nodes that the flags describe.
void AddPool(const std::string& text, const JobFlags& flags, v1::Cluster* cluster) {
  const std::optional<Priced> priced = ParsePriced(text);
  const size_t colon = priced ? priced->what.find(':') : std::string::npos;
  if (colon == std::string::npos || colon == 0) FailPool(text);
  // A comma at the end is allowed.
  const std::string list(absl::StripSuffix(priced->what.substr(colon + 1), ","));
  std::vector<int32_t> counts;
  for (const std::string& count : std::vector<std::string>(absl::StrSplit(list, ','))) {
    counts.push_back(ParseNumber<int32_t>(count).value_or(0));
    if (counts.back() < 1) FailPool(text);
  }
  v1::GpuPool* const pool = cluster->add_pools();
  DescribeNodes(flags, pool);
  pool->set_gpu_type(priced->what.substr(0, colon));
  if (counts.size() == 1) {
    pool->set_gpu_count(counts.front());
  } else {
    pool->mutable_gpu_counts()->Assign(counts.begin(), counts.end());
  }
  if (priced->price) pool->set_price_per_gpu_hour(*priced->price);
}

void SetFirstPool(const JobFlags& flags, v1::Job* job) {
  job->mutable_cluster();  // so that a refusal of a job without GPUs names the pools
  if (flags.gpu.empty() && flags.gpus.empty()) return;
  v1::GpuPool* const pool = PartOf<v1::GpuPool>(job);
  if (!flags.gpu.empty()) {
    pool->clear_gpu();
    pool->set_gpu_type(flags.gpu);
  }
  if (flags.gpus.size() == 1) {
    pool->clear_gpu_counts();
    pool->set_gpu_count(flags.gpus.front());
  } else if (flags.gpus.size() > 1) {
    pool->clear_gpu_count();
    pool->mutable_gpu_counts()->Assign(flags.gpus.begin(), flags.gpus.end());
  }
}

void SetObjective(const JobFlags& flags, v1::Job* job) {
  if (!flags.objective.empty())
    job->mutable_objective()->set_kind(ValueOf(kObjectiveNames, flags.objective));
  if (flags.deadline_hours) {
    if (flags.objective.empty()) job->mutable_objective()->set_kind(v1::OBJECTIVE_KIND_FEWEST_GPUS);
    job->mutable_objective()->set_deadline_seconds(*flags.deadline_hours * 3600);
  }
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
  for (const std::string& component : flags.freeze) {
    if (std::count(flags.lora.begin(), flags.lora.end(), component) > 0)
      Fail("--freeze and --lora both name " + component + ": adapters train with frozen weights");
    SetTrainMode(component, v1::TRAIN_MODE_FROZEN, job->mutable_model());
  }
  for (const std::string& component : flags.lora)
    SetTrainMode(component, v1::TRAIN_MODE_LORA, job->mutable_model());
  for (const std::string& part : flags.lora_train) {
    v1::Lora* lora = job->mutable_model()->mutable_lora();
    part == "head" ? lora->set_train_head(true) : lora->set_train_embedding(true);
  }
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

// Names flags that are missing next to others, as the server would name fields.
void CheckCompanions(const JobFlags& flags, const v1::Job& job) {
  const v1::Model& model = job.model();
  const bool adapters = model.encoder_train_mode() == v1::TRAIN_MODE_LORA ||
                        model.language_model_train_mode() == v1::TRAIN_MODE_LORA;
  const auto of_lora = [&](bool given, const char* flag) {
    if (given && !adapters && flags.job_file.empty())  // a file may describe components in full
      Fail(fmt::format("{} needs --lora llm or --lora encoder, which say what trains adapters",
                       flag));
  };
  of_lora(flags.lora_rank.has_value(), "--lora-rank");
  of_lora(flags.lora_dropout.has_value(), "--lora-dropout");
  of_lora(!flags.lora_train.empty(), "--lora-train");
  of_lora(!flags.lora_base.empty(), "--lora-base");
  const v1::Reliability& reliability = job.reliability();
  if (flags.mtbf_hours && reliability.checkpoint_bytes_per_second() == 0)
    Fail("--mtbf needs --checkpoint-gbytes, 0.001 to 10000 GB/s");
  const auto of_failures = [&](bool given, const char* flag) {
    if (given && reliability.node_mean_time_between_failures_seconds() == 0)
      Fail(fmt::format("{} needs --mtbf, 0.02 to 2000000 hours", flag));
  };
  of_failures(flags.checkpoint_gbytes.has_value(), "--checkpoint-gbytes");
  of_failures(flags.restart_seconds.has_value(), "--restart");
  of_failures(flags.checkpoint_interval_seconds.has_value(), "--checkpoint-interval");
}

}  // namespace

v1::PlanJobRequest RequestFromFlags(const JobFlags& flags) {
  CheckComplete(flags);
  v1::PlanJobRequest request = PartialRequestFromFlags(flags);
  CheckCompanions(flags, request.job());
  return request;
}

v1::PlanJobRequest PartialRequestFromFlags(const JobFlags& flags) {
  v1::PlanJobRequest request;
  if (!flags.job_file.empty()) request = ReadJobFile(flags.job_file);
  v1::Job* job = request.mutable_job();
  SetModel(flags, job);
  if (!flags.datasets.empty()) SetDatasets(flags.datasets, job->mutable_dataset());
  if (!flags.dataset_weights.empty() || !flags.dataset_shares.empty())
    SetMix(flags, job->mutable_dataset());
  SetFirstPool(flags, job);
  // If only --pool gives the GPUs, flags of nodes describe its pools. A first pool with figures of
  // its own stays, so that it is refused.
  const bool pools_alone = job->cluster().pools_size() == 0 && !flags.pools.empty();
  SetOptions(JobOptions(), flags, job);
  if (pools_alone && job->cluster().pools_size() > 0) {
    v1::GpuPool nodes = job->cluster().pools(0);
    ClearOwnFigures(&nodes);
    if (nodes.ByteSizeLong() == job->cluster().pools(0).ByteSizeLong())
      job->mutable_cluster()->clear_pools();
  }
  for (const std::string& pool : flags.pools) AddPool(pool, flags, job->mutable_cluster());
  SetOffload(flags, job);
  SetObjective(flags, job);
  if (!flags.label.empty()) request.set_label(flags.label);
  if (flags.compare_sizes) request.set_compare_sizes(true);
  if (flags.compare_precisions) request.set_compare_precisions(true);
  if (flags.compare_shardings) request.set_compare_shardings(true);
  if (flags.alternatives) request.set_max_alternatives(*flags.alternatives);
  return request;
}

}  // namespace evenkeel::cli
