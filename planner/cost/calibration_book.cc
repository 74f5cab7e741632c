#include "planner/cost/calibration_book.h"

#include <algorithm>
#include <tuple>

#include "planner/base/digest.h"
#include "planner/catalog/catalog.h"
#include "planner/model/towers.h"

namespace evenkeel::planner {
namespace {

enum class Part { kEncoder, kProjector, kLanguage };
constexpr Part kParts[] = {Part::kEncoder, Part::kProjector, Part::kLanguage};

Part PartOf(LayerKind kind) {
  if (IsEncoderKind(kind)) return Part::kEncoder;
  return IsLanguageKind(kind) ? Part::kLanguage : Part::kProjector;
}

// Returns the name under which a component's measurements are found; empty if the model has no such
// part.
std::string NameOf(Part part, const ModelSpec& model, bool encoder_only) {
  const std::string encoder = EncoderNames(model);
  if (part == Part::kEncoder) return encoder;
  if (encoder_only) return "";
  if (part == Part::kLanguage) return model.language_model.name;
  return encoder.empty() ? "" : encoder + "+" + model.language_model.name;
}

// Returns the name of the whole model, from its components: a caller's own label is not reliable.
std::string NameOf(const ModelSpec& model) {
  return NameOf(model.towers.empty() ? Part::kLanguage : Part::kProjector, model, false);
}

bool SameLayers(const Encoder& a, const Encoder& b) {
  const auto dims = [](const Encoder& e) {
    return std::tuple(e.hidden, e.heads, e.head_dim, e.ffn, e.gated_mlp, e.norm, e.qk_norm,
                      e.patch_pixels, e.temporal_patch, e.native_resolution, e.window_tokens,
                      e.front.mel_bins, e.front.channels, e.head_norm, e.layer_norms);
  };
  return dims(a) == dims(b) && a.front == b.front && a.conformer == b.conformer;
}

bool SameWidths(const Projector& a, const Projector& b) {
  const auto dims = [](const Projector& p) {
    return std::tuple(p.input_width, p.merging_width, p.hidden_width, p.norm, p.deep_stacked);
  };
  return dims(a) == dims(b) && a.steps == b.steps && a.resampler == b.resampler;
}

bool SameLayers(const LanguageModel& a, const LanguageModel& b) {
  const auto dims = [](const LanguageModel& m) {
    const MoeSpec moe = m.moe.value_or(MoeSpec{});
    const MlaSpec mla = m.mla.value_or(MlaSpec{});
    return std::tuple(m.hidden, m.heads, m.kv_heads, m.head_dim, m.ffn, m.gated_mlp, m.norm,
                      m.qk_norm, m.vocab, moe.experts, moe.top_k, moe.expert_ffn, moe.shared_ffn,
                      mla.q_lora_rank, mla.kv_lora_rank, mla.qk_nope_dim, mla.qk_rope_dim,
                      mla.v_dim, mla.index_heads, mla.index_dim, m.attention_gate, m.streams,
                      m.mlp_scalars, m.embedding_norm);
  };
  return dims(a) == dims(b) && a.recurrent == b.recurrent && a.index == b.index &&
         a.compressed == b.compressed && a.per_layer == b.per_layer && a.cross == b.cross &&
         a.stream_kind == b.stream_kind && a.laurel_rank == b.laurel_rank;
}

// Names may be a caller's own, so measurements hold only for layers of the same dimensions.
bool SamePart(Part part, const ModelSpec& a, const ModelSpec& b) {
  if (part == Part::kLanguage) return SameLayers(a.language_model, b.language_model);
  const bool encoders = part == Part::kEncoder;
  if (!encoders && a.language_model.hidden != b.language_model.hidden) return false;
  return std::equal(a.towers.begin(), a.towers.end(), b.towers.begin(), b.towers.end(),
                    [&](const EncoderTower& s, const EncoderTower& t) {
                      return encoders ? SameLayers(s.encoder, t.encoder)
                                      : SameWidths(s.projector, t.projector);
                    });
}

std::vector<LayerCalibration> CalibratedLayers(const std::vector<Rating>& ratings) {
  std::map<std::tuple<LayerKind, int64_t, Rated>, std::vector<double>> groups;
  for (const Rating& r : ratings) groups[{r.kind, r.tensor, r.what}].push_back(r.ratio);
  std::vector<LayerCalibration> layers;
  for (auto& [key, ratios] : groups) {
    const auto [kind, tensor, what] = key;
    if (layers.empty() || layers.back().kind != kind || layers.back().tensor != tensor) {
      layers.push_back({.kind = kind, .tensor = tensor});
    }
    LayerCalibration& layer = layers.back();
    MeasuredRatio& ratio = what == Rated::kForward    ? layer.forward
                           : what == Rated::kBackward ? layer.backward
                                                      : layer.activation;
    ratio = MedianRatio(std::move(ratios));
  }
  return layers;
}

// Returns whether the models have the same layers, perhaps in different numbers.
bool SameModel(const ModelSpec& a, const ModelSpec& b) {
  return std::all_of(std::begin(kParts), std::end(kParts),
                     [&](Part part) { return SamePart(part, a, b); });
}

// A described GPU is the same if its figures are.
bool SameGpu(const GpuSpec& a, const GpuSpec& b) {
  const auto figures = [](const GpuSpec& g) {
    return std::tuple(g.name, g.dense_16bit_flops, g.memory_bytes, g.hbm_bytes_per_second,
                      g.scaleup_bytes_per_second, g.pcie_bytes_per_second, g.bfloat16);
  };
  return figures(a) == figures(b);
}

double StepRatio(const StepMeasurement& m) {
  return static_cast<double>(m.measured_ns) / static_cast<double>(m.predicted_ns);
}

int64_t MedianOf(std::vector<int64_t> values) {
  const size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half),
                   values.end());
  return values[half];
}

void Add(const MeasuredRatio& ratio, Digest* digest) {
  digest->Add(ratio.value);
  digest->Add(ratio.count);
  digest->Add(ratio.spread);
}

void Add(const CollectiveCurve& curve, Digest* digest) {
  digest->Add(static_cast<int64_t>(curve.op));
  digest->Add(curve.ranks);
  digest->Add(curve.ranks_per_node);
  for (const CollectivePoint& point : curve.points) {
    digest->Add(point.bytes);
    digest->Add(point.ns);
  }
}

void SetLayerVersion(Calibration* calibration) {
  if (calibration->layers.empty() && calibration->collectives == nullptr) return;
  Digest digest;
  if (calibration->collectives != nullptr) {
    for (const CollectiveCurve& curve : *calibration->collectives) Add(curve, &digest);
  }
  for (const LayerCalibration& layer : calibration->layers) {
    digest.Add(static_cast<int64_t>(layer.kind));
    digest.Add(layer.tensor);
    for (const MeasuredRatio* r : {&layer.forward, &layer.backward, &layer.activation}) {
      Add(*r, &digest);
    }
  }
  calibration->layer_version = "lay-" + digest.Text();
}

void SetVersion(std::vector<int64_t> revisions, Calibration* calibration) {
  std::sort(revisions.begin(), revisions.end());
  revisions.erase(std::unique(revisions.begin(), revisions.end()), revisions.end());
  if (revisions.empty()) return;
  Digest digest;
  for (const char c : calibration->layer_version) digest.Add(static_cast<int64_t>(c));
  Add(calibration->step, &digest);
  digest.Add(calibration->rest_bytes);
  digest.Add(calibration->rest_count);
  for (const int64_t revision : revisions) digest.Add(revision);
  calibration->version = "cal-" + digest.Text();
  calibration->revisions = std::move(revisions);
}

}  // namespace

CalibrationBook::CalibrationBook(const std::vector<RatedProfilePtr>& active,
                                 const std::string& model_version) {
  for (const RatedProfilePtr& rated : active) {
    const MeasuredProfile& profile = rated->profile;
    for (const Rating& rating : rated->ratings) {
      const Part part = PartOf(rating.kind);
      Component& component =
          components_[{profile.gpu->name, NameOf(part, profile.model, profile.encoder_only)}];
      component.ratings.push_back(rating);
      if (component.revisions.empty()) component.model = profile.model;
      if (component.revisions.empty() || component.revisions.back() != rated->revision) {
        component.revisions.push_back(rated->revision);
      }
    }
    for (size_t i = 0; i < profile.steps.size(); ++i) {
      if (*profile.steps[i].model_version == model_version)
        steps_[{profile.gpu->name, NameOf(profile.model)}].push_back({rated, i});
    }
    for (const CollectiveCurve& curve : profile.collectives) {
      std::vector<RecordedCurve>& known = curves_[profile.gpu->name];
      std::erase_if(known, [&](const RecordedCurve& k) { return SameGroup(k.curve, curve); });
      known.push_back({rated->revision, curve});  // what is newer counts
    }
  }
  for (auto& [key, component] : components_) component.layers = CalibratedLayers(component.ratings);
  for (auto& [gpu, known] : curves_) {
    std::sort(known.begin(), known.end(), [](const RecordedCurve& a, const RecordedCurve& b) {
      return BeforeInOrder(a.curve, b.curve);
    });
  }
}

void CalibrationBook::AddCollectives(const GpuSpec& gpu, const CurveTest& uses,
                                     Draft* draft) const {
  const auto found = curves_.find(gpu.name);
  if (found == curves_.end()) return;
  CollectiveCurves curves;
  for (const RecordedCurve& recorded : found->second) {
    if (!uses(recorded.curve)) continue;
    curves.push_back(recorded.curve);
    // A larger message takes at least as long as a smaller one. A measurement that contradicts this
    // is noise.
    std::vector<CollectivePoint>& points = curves.back().points;
    for (size_t i = 1; i < points.size(); ++i)
      points[i].ns = std::max(points[i].ns, points[i - 1].ns);
    draft->revisions.push_back(recorded.revision);
  }
  if (!curves.empty())
    draft->calibration.collectives = std::make_shared<const CollectiveCurves>(std::move(curves));
}

void CalibrationBook::AddComponents(const ModelSpec& model, bool encoder_only, const GpuSpec& gpu,
                                    Draft* draft) const {
  std::vector<LayerCalibration>& layers = draft->calibration.layers;
  for (const Part part : kParts) {
    const auto found = components_.find({gpu.name, NameOf(part, model, encoder_only)});
    if (found == components_.end()) continue;
    const Component& component = found->second;
    if (!SamePart(part, component.model, model)) continue;
    layers.insert(layers.end(), component.layers.begin(), component.layers.end());
    draft->revisions.insert(draft->revisions.end(), component.revisions.begin(),
                            component.revisions.end());
  }
  std::sort(layers.begin(), layers.end(), [](const LayerCalibration& a, const LayerCalibration& b) {
    return std::tie(a.kind, a.tensor) < std::tie(b.kind, b.tensor);
  });
}

bool CalibrationBook::RecordedStep::IsLike(const ModelSpec& model, const GpuSpec& gpu,
                                           const std::string& layer_version) const {
  if (*step().layer_version != layer_version) return false;
  return !profile().described || (SameModel(profile().model, model) && SameGpu(profile().gpu, gpu));
}

void CalibrationBook::AddSteps(const ModelSpec& model, const GpuSpec& gpu, Draft* draft) const {
  Calibration& calibration = draft->calibration;
  const auto found = steps_.find({gpu.name, NameOf(model)});
  if (found == steps_.end()) return;
  const int64_t parameters = CountParameters(model);
  std::vector<double> ratios;
  std::vector<int64_t> rests;
  for (const RecordedStep& recorded : found->second) {
    const StepMeasurement& step = recorded.step();
    const bool counted = recorded.profile().described || step.parameters == parameters;
    if (!counted || !recorded.IsLike(model, gpu, calibration.layer_version)) continue;
    ratios.push_back(StepRatio(step));
    if (!step.rest_bytes.empty()) {
      rests.push_back(*std::max_element(step.rest_bytes.begin(), step.rest_bytes.end()));
    }
    draft->revisions.push_back(recorded.rated->revision);
  }
  calibration.step = MedianRatio(std::move(ratios));
  calibration.rest_count = static_cast<int64_t>(rests.size());
  if (!rests.empty()) calibration.rest_bytes = std::max<int64_t>(0, MedianOf(std::move(rests)));
}

Calibration CalibrationBook::Make(const ModelSpec& model, bool encoder_only, const GpuSpec& gpu,
                                  const CurveTest& uses) const {
  Draft draft;
  AddComponents(model, encoder_only, gpu, &draft);
  AddCollectives(gpu, uses, &draft);
  SetLayerVersion(&draft.calibration);
  if (!encoder_only) AddSteps(model, gpu, &draft);
  SetVersion(std::move(draft.revisions), &draft.calibration);
  return std::move(draft.calibration);
}

Calibration CalibrationBook::For(const ModelSpec& model, const GpuSpec& gpu) const {
  return Make(model, /*encoder_only=*/false, gpu, [](const CollectiveCurve&) { return false; });
}

Calibration CalibrationBook::For(const ModelSpec& model, const Cluster& cluster) const {
  return Make(model, /*encoder_only=*/false, cluster.gpu, [&](const CollectiveCurve& curve) {
    const double rate = curve.inter_node_bytes_per_second;
    return cluster.gpu_count > 1 && (rate == 0 || rate == cluster.inter_node_bytes_per_second);
  });
}

// Steps are compared with others on any network, as if it were one that no curve is bound to.
Calibration CalibrationBook::For(const MeasuredProfile& profile) const {
  const bool own = !profile.collectives.empty();
  return Make(profile.model, profile.encoder_only, profile.gpu, [&](const CollectiveCurve& curve) {
    return own || curve.inter_node_bytes_per_second == 0;
  });
}

std::vector<Rating> CalibrationBook::RatingsLike(const MeasuredProfile& profile) const {
  std::vector<Rating> ratings;
  for (const Part part : kParts) {
    const auto found =
        components_.find({profile.gpu->name, NameOf(part, profile.model, profile.encoder_only)});
    if (found == components_.end()) continue;
    ratings.insert(ratings.end(), found->second.ratings.begin(), found->second.ratings.end());
  }
  return ratings;
}

std::vector<double> CalibrationBook::StepRatiosLike(const MeasuredProfile& profile) const {
  const auto found = steps_.find({profile.gpu->name, NameOf(profile.model)});
  if (found == steps_.end()) return {};
  const std::string layer_version = For(profile).layer_version;
  std::vector<double> ratios;
  for (const RecordedStep& recorded : found->second) {
    if (recorded.IsLike(profile.model, profile.gpu, layer_version))
      ratios.push_back(StepRatio(recorded.step()));
  }
  return ratios;
}

}  // namespace evenkeel::planner
