#include "server/convert/dataset/dataset_from_proto.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/catalog/default_dataset.h"
#include "planner/job.h"
#include "planner/model/model_spec.h"
#include "planner/workload/mixing.h"
#include "planner/workload/unit_scales.h"
#include "server/convert/checks.h"
#include "server/convert/dataset/histogram_from_proto.h"
#include "server/convert/digest.h"

namespace evenkeel::server {
namespace {

constexpr RealRange kWeights = {1e-6, 1e4}, kShares = {1e-6, 1e6};

// Returns samples with the text of these and one image each.
planner::Dataset WithOneImage(const planner::Dataset& dataset, int64_t tokens_per_image) {
  std::map<int64_t, int64_t> counts;  // by tokens
  for (const planner::LengthBin& bin : dataset.bins) {
    counts[bin.llm_tokens - (bin.units[0] - 1) * tokens_per_image] += bin.count;
  }
  planner::Dataset of_images;
  of_images.is_default = dataset.is_default;
  for (const auto& [tokens, count] : counts)
    of_images.bins.push_back({.units = 1, .llm_tokens = tokens, .count = count});
  return of_images;
}

// Assumes samples that the model takes. How many units a sample has of each of several encoders
// cannot be guessed.
void AssumeDefault(const FieldPath& path, ViolationSink& sink, planner::Job* job) {
  const std::vector<planner::EncoderTower>& towers = job->model.towers;
  if (towers.size() > 1) {
    sink.Add(path, "required for a model with several encoders: no data is assumed for them");
    return;
  }
  std::string assumed = "1000000 samples of 4096 tokens";
  job->dataset = planner::DefaultTextDataset();
  for (const planner::EncoderTower& tower : towers) {
    const planner::Encoder& e = tower.encoder;
    if (e.modality == planner::Modality::kAudio) {
      assumed = "1000000 samples of one unit of audio and 256 tokens of text";
      job->dataset = planner::DefaultAudioDataset(e.llm_tokens_per_unit);
      continue;
    }
    // A unit of an encoder that cross attention reads is an image with all its tiles.
    const bool images = e.image_is_unit || job->model.language_model.cross.has_value();
    assumed = std::string(
                  "lengths of ai2d, chartqa and docvqa instruction tuning as OmniBal ships them: "
                  "40941 samples of ") +
              (images                ? "one image"
               : e.native_resolution ? "1 to 5 tiles, 256 units each"
                                     : "1 to 5 units");
    job->dataset =
        planner::DefaultVisionLanguageDataset(e.llm_tokens_per_unit, e.native_resolution);
    if (images) job->dataset = WithOneImage(job->dataset, e.llm_tokens_per_unit);
  }
  job->figures.push_back(
      {.figure = "dataset", .basis = planner::Basis::kAssumed, .detail = std::move(assumed)});
}

void CheckPart(const v1::DatasetPart& part, const FieldPath& path, ViolationSink& sink,
               std::set<std::string>* names) {
  const FieldPath name = path.Child("name");
  if (part.name().empty()) {
    sink.Add(name, "required: a name, unique among the parts");
  } else if (CheckText(sink, name, part.name()) && !names->insert(part.name()).second) {
    sink.Add(name, "must be unique among the parts, but " + Quoted(part.name()) + " came before");
  }
}

// Checks how often a part is drawn.
void CheckMix(const v1::Dataset& from, int i, const FieldPath& path, ViolationSink& sink) {
  const v1::DatasetPart& part = from.parts(i);
  const bool shared = from.parts(0).share() != 0;
  if (part.has_weight()) {
    CheckReal(sink, path.Child("weight"), part.weight(), kWeights);
    if (shared || part.share() != 0)
      sink.Add(path.Child("weight"),
               "must be unset with share, which says how often the part is "
               "drawn whatever its size");
  }
  if (part.share() != 0) {
    CheckReal(sink, path.Child("share"), part.share(), kShares);
    if (!shared) sink.Add(path.Child("share"), "must be unset unless all parts have one");
  } else if (shared) {
    sink.Add(path.Child("share"), "required: the first part has a share, so all need one");
  }
}

// Mixes the parts by their weights or shares, and notes the number of samples of each.
void MixParts(const v1::Dataset& from, std::vector<std::vector<planner::LengthBin>> parts,
              planner::Job* job) {
  const auto count = [](const std::vector<planner::LengthBin>& bins) {
    int64_t samples = 0;
    for (const planner::LengthBin& bin : bins) samples += bin.count;
    return samples;
  };
  const bool shared = from.parts(0).share() != 0;
  std::vector<double> shares;
  std::vector<int64_t> before;
  for (int i = 0; i < from.parts_size(); ++i) {
    std::vector<planner::LengthBin>& bins = parts[static_cast<size_t>(i)];
    before.push_back(count(bins));
    shares.push_back(from.parts(i).share());
    if (!shared && from.parts(i).has_weight()) bins = Repeated(bins, from.parts(i).weight());
  }
  if (shared) parts = Shared(parts, shares);
  for (int i = 0; i < from.parts_size(); ++i) {
    const std::vector<planner::LengthBin>& bins = parts[static_cast<size_t>(i)];
    job->dataset.bins.insert(job->dataset.bins.end(), bins.begin(), bins.end());
    const v1::DatasetPart& part = from.parts(i);
    job->figures.push_back(
        {.figure = "dataset.parts[" + std::to_string(i) + "]",
         .basis = planner::Basis::kGiven,
         .detail = part.name() + ": " +
                   (shared ? "share " + NumberText(part.share())
                           : "weight " + NumberText(part.has_weight() ? part.weight() : 1)) +
                   ", " + std::to_string(count(bins)) + " samples in an epoch, of " +
                   std::to_string(before[static_cast<size_t>(i)])});
  }
}

bool IsWeighted(const v1::Dataset& from) {
  return std::any_of(from.parts().begin(), from.parts().end(), [](const auto& part) {
    return part.share() != 0 || (part.has_weight() && part.weight() != 1.0);
  });
}

void AppendParts(const v1::Dataset& from, const FieldPath& path, ViolationSink& sink,
                 const planner::ModelSpec* model, planner::Job* job) {
  if (from.parts_size() > kMaxParts) {
    sink.Add(path.Child("parts"), "must have at most " + std::to_string(kMaxParts) +
                                      " parts, but has " + std::to_string(from.parts_size()));
    return;
  }
  std::set<std::string> names;
  std::vector<std::vector<planner::LengthBin>> parts;
  const int64_t before = sink.count();
  for (int i = 0; i < from.parts_size(); ++i) {
    const v1::DatasetPart& part = from.parts(i);
    const FieldPath part_path = path.Child("parts", i);
    CheckPart(part, part_path, sink, &names);
    const FieldPath histogram = part_path.Child("histogram");
    if (part.has_histogram()) {
      AppendHistogram(part.histogram(), histogram, sink, model, &parts.emplace_back());
    } else {
      sink.Add(histogram, "required: the part's samples");
    }
    CheckMix(from, i, part_path, sink);
  }
  if (sink.count() != before) return;
  if (IsWeighted(from)) return MixParts(from, std::move(parts), job);
  for (const std::vector<planner::LengthBin>& part : parts)
    job->dataset.bins.insert(job->dataset.bins.end(), part.begin(), part.end());
}

void CheckChoice(const v1::Dataset& from, const FieldPath& path, ViolationSink& sink) {
  const int given = (from.has_histogram() ? 1 : 0) + (from.parts().empty() ? 0 : 1) +
                    (from.dataset_ref().empty() ? 0 : 1);
  if (given > 1) {
    sink.Add(path, "must have either histogram, parts or dataset_ref, not several of them");
  } else if (given == 0) {
    sink.Add(path,
             "must have histogram, parts or dataset_ref, or be unset for the built-in default");
  }
}

void AppendStored(const std::string& ref, const FieldPath& path, ViolationSink& sink,
                  const planner::ModelSpec* model, const DatasetSource& datasets,
                  std::vector<planner::LengthBin>* bins) {
  if (!IsDatasetRef(ref)) {
    sink.Add(
        path,
        "must be \"ds-\" and 32 lower-case hexadecimal digits, as PackDataset returns it, but is " +
            Quoted(ref));
    return;
  }
  if (!datasets) {
    sink.Add(path, "needs a server that keeps datasets; give histogram or parts");
    return;
  }
  const auto bytes = datasets(ref);
  v1::Histogram histogram;
  if (bytes == nullptr || !histogram.ParseFromString(*bytes)) {
    sink.Add(path, "unknown: " + ref +
                       " was never uploaded to this server, or has been evicted since; upload it "
                       "again by PackDataset with keep_histogram, or give histogram");
    return;
  }
  AppendHistogram(histogram, path, sink, model, bins);
}

int64_t CountSamples(const planner::Dataset& dataset) {
  int64_t samples = 0;  // at most 64 parts x 65536 bins x 10^12
  for (const planner::LengthBin& bin : dataset.bins) samples += bin.count;
  return samples;
}

}  // namespace

void DatasetFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      const planner::ModelSpec* model, const DatasetSource& datasets,
                      planner::Job* job) {
  if (!from.has_dataset()) {
    if (model != nullptr) AssumeDefault(path.Child("dataset"), sink, job);
    return;
  }
  const v1::Dataset& dataset = from.dataset();
  const FieldPath dataset_path = path.Child("dataset");
  const int64_t before = sink.count();
  if (model != nullptr) job->dataset.unit_scales = planner::UnitScalesOf(*model);
  std::vector<planner::LengthBin>* bins = &job->dataset.bins;
  if (dataset.has_histogram()) {
    AppendHistogram(dataset.histogram(), dataset_path.Child("histogram"), sink, model, bins);
  }
  AppendParts(dataset, dataset_path, sink, model, job);
  if (!dataset.dataset_ref().empty()) {
    AppendStored(dataset.dataset_ref(), dataset_path.Child("dataset_ref"), sink, model, datasets,
                 bins);
  }
  CheckChoice(dataset, dataset_path, sink);
  if (sink.count() != before) return;

  NormalizeBins(bins);
  const int64_t samples = CountSamples(job->dataset);
  if (samples > planner::kMaxSamples) {
    sink.Add(dataset_path, "must have at most " + std::to_string(planner::kMaxSamples) +
                               " samples in all, but has " + std::to_string(samples));
  } else if (model != nullptr && !SumsFit(*bins, *model)) {
    sink.Add(dataset_path, "must have less than 2^63 tokens in all");
  }
  job->figures.push_back({.figure = "dataset",
                          .basis = planner::Basis::kGiven,
                          .detail = std::to_string(samples) + " samples in " +
                                    std::to_string(bins->size()) + " bins"});
}

}  // namespace evenkeel::server
