#include "server/convert/histogram_from_proto.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "planner/model/model_spec.h"
#include "planner/model/towers.h"
#include "server/convert/checks.h"

namespace evenkeel::server {
namespace {

constexpr size_t kMaxSerialisedBytes = 65536;
constexpr IntRange kSamples = {1, kMaxSamples};

using Values = google::protobuf::RepeatedField<int64_t>;

void CheckValues(const Values& values, IntRange range, ListCheck& list) {
  for (int i = 0; i < values.size(); ++i) list.CheckInt(i, values[i], range);
}

// Reports lists that are too short or too long, at the list whose length differs from that of
// `sample_count`.
bool CheckSizes(const v1::Histogram& from, const FieldPath& path, ViolationSink& sink) {
  const int64_t before = sink.count();
  const int bins = from.sample_count_size();
  const auto differs = [&](std::string_view name, int size) {
    sink.Add(path.Child(name), "must have as many values as sample_count (" + std::to_string(bins) +
                                   "), but has " + std::to_string(size));
  };
  if (bins > 0 && from.units_size() != 0 && from.units_size() != bins) {
    differs("units", from.units_size());
  }
  if (from.llm_tokens().empty()) {
    sink.Add(path.Child("llm_tokens"), "required: tokens per sample, one value for each bin");
  } else if (bins > 0 && from.llm_tokens_size() != bins) {
    differs("llm_tokens", from.llm_tokens_size());
  }
  if (bins == 0) {
    sink.Add(path.Child("sample_count"), "required: samples in each bin, at least one bin");
  }
  return sink.count() == before;
}

// Checks each bin separately: its tokens must include its visual tokens.
void CheckBins(const v1::Histogram& from, const FieldPath& path, ViolationSink& sink,
               const planner::ModelSpec& model) {
  if (from.units().empty()) return;
  if (model.towers.empty()) {
    ListCheck units(sink, path, "units");
    for (int i = 0; i < from.units_size(); ++i) {
      if (from.units(i) != 0) units.Fail(i, "must be 0 or unset: the model has no encoder");
    }
    return;
  }
  const int64_t per_unit = planner::LlmTokensPerUnit(model);
  ListCheck tokens(sink, path, "llm_tokens");
  for (int i = 0; i < from.units_size(); ++i) {
    const int64_t visual = from.units(i) * per_unit;
    if (from.llm_tokens(i) >= visual) continue;
    tokens.Fail(i, tokens.failed() ? std::string()
                                   : "must be at least " + std::to_string(from.units(i)) +
                                         " units x " + std::to_string(per_unit) +
                                         " tokens per unit = " + std::to_string(visual) +
                                         " (visual tokens are counted in), but is " +
                                         std::to_string(from.llm_tokens(i)));
  }
}

}  // namespace

void AppendHistogram(const v1::Histogram& from, const FieldPath& path, ViolationSink& sink,
                     const planner::ModelSpec* model, std::vector<planner::LengthBin>* bins) {
  if (from.ByteSizeLong() > kMaxSerialisedBytes) {
    sink.Add(path, "must be at most " + std::to_string(kMaxSerialisedBytes) +
                       " bytes when serialised, but has " + std::to_string(from.ByteSizeLong()) +
                       ": merge neighbouring bins");
    return;
  }
  const int64_t before = sink.count();
  if (from.encoder_count() == 0 || from.encoder_count() == 1) CheckSizes(from, path, sink);
  {  // in field order; each list reports before the next
    ListCheck units(sink, path, "units");
    CheckValues(from.units(), kSampleUnits, units);
  }
  {
    ListCheck tokens(sink, path, "llm_tokens");
    CheckValues(from.llm_tokens(), kSampleTokens, tokens);
  }
  {
    ListCheck samples(sink, path, "sample_count");
    CheckValues(from.sample_count(), kSamples, samples);
  }
  if (from.encoder_count() < 0 || from.encoder_count() > 1) {
    sink.Add(path.Child("encoder_count"), std::string(kNotYet) +
                                              "several encoders; must be 1 or "
                                              "unset, but is " +
                                              std::to_string(from.encoder_count()));
  }
  if (sink.count() != before) return;
  if (model != nullptr) CheckBins(from, path, sink, *model);
  bins->reserve(bins->size() + from.sample_count_size());
  for (int i = 0; i < from.sample_count_size(); ++i) {
    bins->push_back({.units = from.units().empty() ? 0 : from.units(i),
                     .llm_tokens = from.llm_tokens(i),
                     .count = from.sample_count(i)});
  }
}

void NormalizeBins(std::vector<planner::LengthBin>* bins) {
  const auto key = [](const planner::LengthBin& bin) {
    return std::tie(bin.units, bin.llm_tokens);
  };
  std::sort(bins->begin(), bins->end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  size_t kept = 0;
  for (size_t i = 0; i < bins->size(); ++i) {
    planner::LengthBin& bin = (*bins)[i];
    if (kept > 0 && key((*bins)[kept - 1]) == key(bin)) {
      (*bins)[kept - 1].count += bin.count;
    } else {
      (*bins)[kept++] = bin;
    }
  }
  bins->resize(kept);
}

bool SumsFit(const std::vector<planner::LengthBin>& bins, const planner::ModelSpec& model) {
  const int64_t per_unit = planner::EncoderTokensPerUnit(model);
  int64_t tokens = 0;
  int64_t encoder_tokens = 0;
  int64_t product = 0;
  for (const planner::LengthBin& bin : bins) {
    if (__builtin_mul_overflow(bin.count, bin.llm_tokens, &product) ||
        __builtin_add_overflow(tokens, product, &tokens) ||
        __builtin_mul_overflow(bin.count, bin.units * per_unit, &product) ||
        __builtin_add_overflow(encoder_tokens, product, &encoder_tokens)) {
      return false;
    }
  }
  return true;
}

}  // namespace evenkeel::server
