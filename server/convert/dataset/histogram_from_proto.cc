#include "server/convert/dataset/histogram_from_proto.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "planner/model/model_spec.h"
#include "server/convert/checks.h"

namespace evenkeel::server {
namespace {

constexpr size_t kMaxSerialisedBytes = 65536;
constexpr IntRange kSamples = {1, planner::kMaxSamples};

using Values = google::protobuf::RepeatedField<int64_t>;

void CheckValues(const Values& values, IntRange range, ListCheck& list) {
  for (int i = 0; i < values.size(); ++i) list.CheckInt(i, values[i], range);
}

int EncoderCount(const v1::Histogram& from) { return std::max(1, from.encoder_count()); }

// Reports lists that are too short or too long, at the list whose length differs from that of
// `sample_count`.
bool CheckSizes(const v1::Histogram& from, const FieldPath& path, ViolationSink& sink) {
  const int64_t before = sink.count();
  const int bins = from.sample_count_size();
  const int encoders = EncoderCount(from);
  const auto differs = [&](std::string_view name, int size) {
    sink.Add(path.Child(name), "must have as many values as sample_count (" + std::to_string(bins) +
                                   "), but has " + std::to_string(size));
  };
  if (bins > 0 && from.units_size() != 0 && from.units_size() != int64_t{bins} * encoders) {
    if (encoders == 1) {
      differs("units", from.units_size());
    } else {
      sink.Add(path.Child("units"), "must have encoder_count (" + std::to_string(encoders) +
                                        ") values for each of sample_count (" +
                                        std::to_string(bins) + "), but has " +
                                        std::to_string(from.units_size()));
    }
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
  const size_t encoders = static_cast<size_t>(EncoderCount(from));
  if (encoders != model.towers.size()) {
    sink.Add(path.Child("encoder_count"), "must be the number of the model's encoders (" +
                                              std::to_string(model.towers.size()) + "), but is " +
                                              std::to_string(encoders));
    return;
  }
  const bool hears = model.towers.back().encoder.modality == planner::Modality::kAudio;
  if (model.language_model.cross && hears) {  // one stretch of audio, to which all tokens attend
    ListCheck units(sink, path, "units");
    for (int i = 0; i < from.units_size(); ++i)
      if (from.units(i) != 1)
        units.Fail(i, "must be 1, the padded recording of a sample of " +
                          model.language_model.name + ", but is " + std::to_string(from.units(i)));
    return;
  }
  ListCheck tokens(sink, path, "llm_tokens");
  for (int i = 0; i < from.llm_tokens_size(); ++i) {
    const planner::PerEncoder<int64_t> units = UnitsOfBin(from, i);
    int64_t all = 0;
    std::string sum;
    for (size_t e = 0; e < encoders; ++e) {
      const int64_t per_unit = model.towers[e].encoder.llm_tokens_per_unit;
      all += units[e] * per_unit;
      sum += (e > 0 ? " + " : "") + std::to_string(units[e]) + " units x " +
             std::to_string(per_unit) + " tokens per unit";
    }
    if (from.llm_tokens(i) >= all) continue;
    tokens.Fail(i, tokens.failed() ? std::string()
                                   : "must be at least " + sum + " = " + std::to_string(all) +
                                         " (visual tokens are counted in), but is " +
                                         std::to_string(from.llm_tokens(i)));
  }
}

}  // namespace

planner::PerEncoder<int64_t> UnitsOfBin(const v1::Histogram& from, int bin) {
  planner::PerEncoder<int64_t> units;
  if (from.units().empty()) return units;
  const int encoders = EncoderCount(from);
  for (int e = 0; e < encoders; ++e) units[static_cast<size_t>(e)] = from.units(bin * encoders + e);
  return units;
}

void AppendHistogram(const v1::Histogram& from, const FieldPath& path, ViolationSink& sink,
                     const planner::ModelSpec* model, std::vector<planner::LengthBin>* bins) {
  if (from.ByteSizeLong() > kMaxSerialisedBytes) {
    sink.Add(path, "must be at most " + std::to_string(kMaxSerialisedBytes) +
                       " bytes when serialised, but has " + std::to_string(from.ByteSizeLong()) +
                       ": merge neighbouring bins");
    return;
  }
  const int64_t before = sink.count();
  const bool known_count = from.encoder_count() >= 0 && from.encoder_count() <= kMaxEncoders;
  if (known_count) CheckSizes(from, path, sink);
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
  if (!known_count) {
    sink.Add(path.Child("encoder_count"), "must be 1 to " + std::to_string(kMaxEncoders) +
                                              ", or unset, but is " +
                                              std::to_string(from.encoder_count()));
  }
  if (sink.count() != before) return;
  if (model != nullptr) CheckBins(from, path, sink, *model);
  bins->reserve(bins->size() + from.sample_count_size());
  for (int i = 0; i < from.sample_count_size(); ++i) {
    bins->push_back({.units = UnitsOfBin(from, i),
                     .llm_tokens = from.llm_tokens(i),
                     .count = from.sample_count(i)});
  }
}

void NormalizeBins(std::vector<planner::LengthBin>* bins) {
  const auto key = [](const planner::LengthBin& bin) {
    return std::tie(bin.units.values(), bin.llm_tokens);
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
  int64_t tokens = 0;
  int64_t encoder_tokens = 0;
  int64_t product = 0;
  for (const planner::LengthBin& bin : bins) {
    if (__builtin_mul_overflow(bin.count, bin.llm_tokens, &product) ||
        __builtin_add_overflow(tokens, product, &tokens)) {
      return false;
    }
    for (size_t e = 0; e < model.towers.size(); ++e) {
      const int64_t own = bin.units[e] * model.towers[e].encoder.tokens_per_unit;
      if (__builtin_mul_overflow(bin.count, own, &product) ||
          __builtin_add_overflow(encoder_tokens, product, &encoder_tokens)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace evenkeel::server
