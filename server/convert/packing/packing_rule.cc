#include "server/convert/packing/packing_rule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "planner/packing/isf.h"
#include "planner/workload/unit_scales.h"
#include "server/convert/choices.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kIterations = {1, 100};
constexpr int64_t kDefaultIterations = 10;
constexpr RealRange kTimes = {0, 1000};
constexpr RealRange kSquaredTimes = {0, 1};

// With several encoders, each has a time of its own.
void TakeEncoderTimes(const v1::PackTimes& from, const FieldPath& path, int encoders,
                      ViolationSink& sink, planner::PackTimes* times) {
  if (from.vision_seconds_per_unit() != 0) {
    sink.Add(
        path.Child("vision_seconds_per_unit"),
        "must be unset with several encoders: encoder_seconds_per_unit has one value for each");
  }
  if (from.encoder_seconds_per_unit_size() != encoders) {
    sink.Add(path.Child("encoder_seconds_per_unit"),
             "must have one value for each of unit_scales (" + std::to_string(encoders) +
                 "), but has " + std::to_string(from.encoder_seconds_per_unit_size()));
    return;
  }
  for (int e = 0; e < encoders; ++e)
    times->vision_per_unit[static_cast<size_t>(e)] = CheckReal(
        sink, path.Child("encoder_seconds_per_unit", e), from.encoder_seconds_per_unit(e), kTimes);
}

planner::PackTimes TimesFromProto(const v1::PackTimes& from, const FieldPath& path, int encoders,
                                  ViolationSink& sink) {
  const int64_t before = sink.count();
  planner::PackTimes times;
  times.vision_per_unit = CheckReal(sink, path.Child("vision_seconds_per_unit"),
                                    from.vision_seconds_per_unit(), kTimes);
  if (encoders > 1) TakeEncoderTimes(from, path, encoders, sink, &times);
  times.language_per_token = CheckReal(sink, path.Child("language_seconds_per_token"),
                                       from.language_seconds_per_token(), kTimes);
  times.language_per_squared_token =
      CheckReal(sink, path.Child("language_seconds_per_squared_token"),
                from.language_seconds_per_squared_token(), kSquaredTimes);
  times.dummy_units =
      CheckInt(sink, path.Child("dummy_vision_units"), from.dummy_vision_units(), kUnitCaps);
  if (encoders == 1 && from.encoder_seconds_per_unit_size() > 0) {
    sink.Add(path.Child("encoder_seconds_per_unit"),
             "must be unset without unit_scales: vision_seconds_per_unit is the encoder's time");
  }
  const bool any = times.vision_per_unit != planner::PerEncoder<double>() ||
                   times.language_per_token > 0 || times.language_per_squared_token > 0;
  if (sink.count() == before && !any) {
    sink.Add(path,
             "must have a time above 0, or be unset: then units and tokens stand for themselves");
  }
  return times;
}

}  // namespace

planner::Packer PackerFromProto(v1::Packer packer, const FieldPath& path, ViolationSink& sink) {
  return FromProto(kPackers, packer, planner::Packer::kBalanced, path, sink);
}

planner::PerEncoder<int64_t> ScalesFromProto(const v1::BatchRule& from, const FieldPath& path,
                                             ViolationSink& sink) {
  planner::PerEncoder<int64_t> scales = 1;
  const int given = from.unit_scales_size();
  if (given == 0) return scales;
  if (given == 1 || given > kMaxEncoders) {
    sink.Add(path.Child("unit_scales"), "must have 2 to " + std::to_string(kMaxEncoders) +
                                            " values, one for each encoder, or none, but has " +
                                            std::to_string(given));
    return scales;
  }
  ListCheck list(sink, path, "unit_scales");
  for (int e = 0; e < given; ++e) {
    list.CheckInt(e, from.unit_scales(e), {1, planner::kUnitScaleAtMost});
    scales[static_cast<size_t>(e)] = from.unit_scales(e);
  }
  return scales;
}

void RuleFromProto(const v1::BatchRule& from, const FieldPath& path, ViolationSink& sink,
                   planner::PackingJob* job) {
  planner::PackRule& pack = job->pack;
  job->unit_scales = ScalesFromProto(from, path, sink);
  pack.caps.units = CheckInt(sink, path.Child("unit_cap"), from.unit_cap(), kUnitCaps);
  pack.caps.tokens = CheckInt(sink, path.Child("token_cap"), from.token_cap(), kPackTokenCaps);
  pack.keep_units = CheckInt(sink, path.Child("keep_units"), from.keep_units(), kUnitCaps);
  if (from.keep_units() == 0) pack.keep_units = pack.caps.units;
  pack.keep_tokens = CheckInt(sink, path.Child("keep_tokens"), from.keep_tokens(), kPackTokenCaps);
  if (from.keep_tokens() == 0) pack.keep_tokens = planner::DefaultKeepTokens(pack.caps.tokens);
  pack.packer = PackerFromProto(from.packer(), path.Child("packer"), sink);
  if (from.token_cap() == 0 && from.keep_units() != 0) {
    sink.Add(path.Child("keep_units"),
             "needs token_cap: without it caps are derived, and this too");
  }
  if (from.token_cap() == 0 && from.keep_tokens() != 0) {
    sink.Add(path.Child("keep_tokens"),
             "needs token_cap: without it caps are derived, and this too");
  }
  job->deal.window = CheckIntOr(sink, path.Child("order_window"), from.order_window(),
                                kOrderWindows, kDefaultOrderWindow);
  pack.iterations = CheckIntOr(sink, path.Child("iterations"), from.iterations(), kIterations,
                               kDefaultIterations);
  pack.seed = static_cast<uint64_t>(from.seed());
  job->deal.seed = pack.seed;
  pack.oversize = FromProto(kOversizePolicies, from.oversize_policy(),
                            planner::OversizePolicy::kAlone, path.Child("oversize_policy"), sink);
  CheckEnum(sink, path.Child("level"), from.level(), v1::PackLevel_IsValid,
            "PACK_LEVEL_TOKENS, PACK_LEVEL_TIME");
  job->by_time = from.level() == v1::PACK_LEVEL_TIME;
  job->window_is_free = job->by_time && from.order_window() == 0;
  if (job->by_time && !from.has_pack_times()) {
    sink.Add(path.Child("pack_times"),
             "required with level PACK_LEVEL_TIME: the times of a plan's "
             "batch_rule, or of the model's parts");
  }
  if (from.has_pack_times()) {
    job->times = TimesFromProto(from.pack_times(), path.Child("pack_times"),
                                std::max(1, from.unit_scales_size()), sink);
  }
}

void ScalesToProto(const planner::PerEncoder<int64_t>& scales, v1::BatchRule* out) {
  if (scales == planner::PerEncoder<int64_t>(1)) return;
  for (const int64_t scale : scales.values())
    if (scale > 0) out->add_unit_scales(scale);
}

void TimesToProto(const planner::PackTimes& times, v1::BatchRule* rule) {
  v1::PackTimes* out = rule->mutable_pack_times();
  if (rule->unit_scales().empty()) out->set_vision_seconds_per_unit(times.vision_per_unit[0]);
  for (int e = 0; e < rule->unit_scales_size(); ++e)
    out->add_encoder_seconds_per_unit(times.vision_per_unit[static_cast<size_t>(e)]);
  out->set_language_seconds_per_token(times.language_per_token);
  out->set_language_seconds_per_squared_token(times.language_per_squared_token);
  out->set_dummy_vision_units(times.dummy_units);
}

void RuleToProto(const planner::PackingJob& job, v1::BatchRule* out) {
  const planner::PackRule& pack = job.pack;
  ScalesToProto(job.unit_scales, out);
  out->set_unit_cap(pack.caps.units);
  out->set_token_cap(pack.caps.tokens);
  out->set_packer(ToProto(kPackers, pack.packer));
  if (pack.packer == planner::Packer::kIsf) {
    out->set_keep_units(pack.keep_units);
    out->set_keep_tokens(pack.keep_tokens);
    out->set_iterations(static_cast<int32_t>(pack.iterations));
  }
  out->set_order_window(job.deal.window);
  if (job.by_time) out->set_level(v1::PACK_LEVEL_TIME);
  out->set_seed(static_cast<int64_t>(pack.seed));
  out->set_oversize_policy(ToProto(kOversizePolicies, pack.oversize));
  TimesToProto(job.times, out);
}

}  // namespace evenkeel::server
