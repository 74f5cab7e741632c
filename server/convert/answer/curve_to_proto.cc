#include "server/convert/answer/curve_to_proto.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "evenkeel/v1/curve.pb.h"
#include "evenkeel/v1/plan.pb.h"
#include "planner/cost/goodput.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"

namespace evenkeel::server {
namespace {

constexpr double kSecondsPerDay = 86400;

// The part of a plan that decides which state lies on which GPU.
struct StateSplit {
  v1::Parallelism degrees;
  std::vector<v1::LayerGroup> layers;  // of all stages in order, without recompute
  std::vector<int> stage_ends;
  int64_t shards = 1;  // ranks that share the states of a stage
  v1::ZeroStage zero = v1::ZERO_STAGE_0;
};

int64_t Shards(const v1::PlanSubject& subject, const v1::Parallelism& degrees) {
  const int64_t copies = int64_t{std::max(1, degrees.data())} * std::max(1, degrees.context());
  if (subject.zero_stage() <= v1::ZERO_STAGE_0) return 1;
  int64_t shards =
      subject.zero_group() == 0 ? copies : std::min<int64_t>(copies, subject.zero_group());
  while (copies % shards != 0) --shards;
  return shards;
}

StateSplit SplitOf(const v1::Plan& plan) {
  StateSplit split{.degrees = plan.parallelism(),
                   .shards = Shards(plan.subject(), plan.parallelism()),
                   .zero = plan.subject().zero_stage()};
  for (const v1::Stage& stage : plan.stages()) {
    for (v1::LayerGroup group : stage.layers()) {
      group.clear_recomputed();
      group.clear_recomputed_count();
      split.layers.push_back(std::move(group));
    }
    split.stage_ends.push_back(static_cast<int>(split.layers.size()));
  }
  return split;
}

bool SameLayers(const StateSplit& a, const StateSplit& b) {
  return a.stage_ends == b.stage_ends &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    [](const v1::LayerGroup& x, const v1::LayerGroup& y) {
                      return x.kind() == y.kind() && x.first_layer() == y.first_layer() &&
                             x.layer_count() == y.layer_count() && x.chunk() == y.chunk() &&
                             x.encoder_index() == y.encoder_index();
                    });
}

bool ReshardsWeights(const StateSplit& from, const StateSplit& to) {
  const bool same = from.degrees.tensor() == to.degrees.tensor() &&
                    from.degrees.pipeline() == to.degrees.pipeline() &&
                    from.degrees.expert() == to.degrees.expert() &&
                    from.degrees.virtual_stages() == to.degrees.virtual_stages() &&
                    SameLayers(from, to);
  return !same || (to.zero == v1::ZERO_STAGE_3 && from.shards != to.shards);
}

std::string TextOf(const v1::Plan& plan) {
  const v1::Parallelism& p = plan.parallelism();
  const auto above_one = [](const char* text, int degree) {
    return degree > 1 ? text + std::to_string(degree) : std::string();
  };
  std::string text = "TP " + std::to_string(std::max(1, p.tensor())) +
                     above_one(" x CP ", p.context()) + " x PP " +
                     std::to_string(std::max(1, p.pipeline())) + " x DP " +
                     std::to_string(std::max(1, p.data())) + above_one(", EP ", p.expert());
  if (p.pipeline() <= 1) return text;
  planner::Schedule schedule = planner::Schedule::kOneFOneB;
  Find(kSchedules, plan.schedule(), &schedule);
  text += ", " + std::string(planner::TitleOf(schedule));
  if (p.virtual_stages() > 1)
    text += " with " + std::to_string(p.virtual_stages()) + " virtual stages";
  return text;
}

// A fitting size of a curve, as input for the next size.
struct Fitting {
  const v1::CurvePoint* point = nullptr;
  StateSplit split;
};

class CurveAnswer {
 public:
  CurveAnswer(const CurveJobs& jobs, v1::PlanCurveResponse* out) : jobs_(jobs), out_(*out) {
    // Points must not move while others are added.
    for (size_t i = 0; i < jobs.pools; ++i) out_.add_curves();
    for (const CurveSize& size : jobs.sizes) {
      out_.mutable_curves(static_cast<int>(size.pool))->add_points();
    }
    filled_.resize(jobs.pools);
    fitting_.resize(jobs.pools);
  }

  bool Add(const CurveSize& size, const CurvePlan& made) {
    v1::Curve* curve = out_.mutable_curves(static_cast<int>(size.pool));
    curve->set_gpu_type(size.job.cluster.gpu.name);
    curve->set_gpus_per_node(static_cast<int32_t>(size.gpu_count / size.nodes));
    curve->set_price_per_gpu_hour(size.job.cluster.price_per_gpu_hour);
    v1::CurvePoint* point = curve->mutable_points(filled_[size.pool]++);
    point->set_nodes(static_cast<int32_t>(size.nodes));
    point->set_gpu_count(static_cast<int32_t>(size.gpu_count));
    point->set_global_batch_samples(size.global_batch_samples);
    point->set_plan_id(made.plan_id);
    if (!size.possible()) {
      point->set_state(v1::CURVE_POINT_STATE_NO_DEGREES);
      point->set_reason(size.impossible);
      return true;
    }
    google::protobuf::Arena arena;
    auto* plan = google::protobuf::Arena::CreateMessage<v1::Plan>(&arena);
    if (!plan->ParseFromArray(made.plan_bytes.data(), static_cast<int>(made.plan_bytes.size())))
      return false;
    point->set_estimated(made.estimated);
    if (plan->has_misfit()) {
      point->set_state(v1::CURVE_POINT_STATE_MISFIT);
      point->set_reason(plan->misfit().text());
      return true;
    }
    point->set_state(v1::CURVE_POINT_STATE_FITS);
    Fill(*plan, point);
    Compare(size, *plan, point);
    return true;
  }

 private:
  void Fill(const v1::Plan& plan, v1::CurvePoint* point) {
    const v1::Predictions& predictions = plan.predictions();
    const double step = predictions.step().total_seconds();
    *point->mutable_parallelism() = plan.parallelism();
    point->set_parallelism_text(TextOf(plan));
    point->set_step_seconds(step);
    point->set_step_low_seconds(step * predictions.step_interval().low_ratio());
    point->set_step_high_seconds(step * predictions.step_interval().high_ratio());
    point->set_lower_bound_seconds(plan.proof().lower_bound_seconds());
    point->set_samples_per_second(predictions.samples_per_step() / step);
    point->set_llm_tokens_per_second(predictions.llm_tokens_per_second());
    const bool failures = predictions.has_goodput();
    const v1::Goodput& goodput = predictions.goodput();
    point->set_training_seconds(failures ? goodput.finish_seconds()
                                         : predictions.epoch_seconds() * plan.subject().epochs());
    point->set_gpu_days(failures ? goodput.gpu_days() : predictions.gpu_days());
    point->set_cost(failures ? goodput.cost() : predictions.cost());
    for (const v1::Stage& stage : plan.stages()) {
      if (stage.memory().total_bytes() <= point->peak_memory_bytes()) continue;
      point->set_peak_memory_bytes(stage.memory().total_bytes());
      point->set_capacity_bytes(stage.capacity_bytes());
    }
    point->set_memory_fit(plan.memory_fit());
    out_.set_interval_coverage_ratio(predictions.step_interval().coverage_ratio());
  }

  // Compares the size with the smaller ones of its curve.
  void Compare(const CurveSize& size, const v1::Plan& plan, v1::CurvePoint* point) {
    std::vector<Fitting>& smaller = fitting_[size.pool];
    const v1::CurvePoint& first = smaller.empty() ? *point : *smaller.front().point;
    point->set_scaling_efficiency_ratio(point->samples_per_second() / point->gpu_count() /
                                        (first.samples_per_second() / first.gpu_count()));
    StateSplit split = SplitOf(plan);
    if (!smaller.empty()) {
      const auto as_fast = std::find_if(smaller.begin(), smaller.end(), [&](const Fitting& other) {
        return other.point->samples_per_second() >= point->samples_per_second();
      });
      if (as_fast != smaller.end()) {
        point->set_dominated(true);
        point->set_dominated_by_plan_id(as_fast->point->plan_id());
      }
      const v1::CurvePoint& previous = *smaller.back().point;
      point->set_overlaps_previous(Overlap(previous, *point));
      FillValue(first, previous, *point, point->mutable_next_node());
      FillResize(size, plan, smaller.back(), split, point);
    }
    smaller.push_back({point, std::move(split)});
  }

  static bool Overlap(const v1::CurvePoint& a, const v1::CurvePoint& b) {
    // Samples per second at the ends of the step's range.
    const auto low = [](const v1::CurvePoint& p) {
      return p.samples_per_second() * p.step_seconds() / p.step_high_seconds();
    };
    const auto high = [](const v1::CurvePoint& p) {
      return p.samples_per_second() * p.step_seconds() / p.step_low_seconds();
    };
    return low(a) <= high(b) && low(b) <= high(a);
  }

  static void FillValue(const v1::CurvePoint& first, const v1::CurvePoint& previous,
                        const v1::CurvePoint& point, v1::NodeValue* value) {
    const double nodes = point.nodes() - previous.nodes();
    value->set_previous_nodes(previous.nodes());
    value->set_added_samples_per_second(
        (point.samples_per_second() - previous.samples_per_second()) / nodes);
    value->set_added_llm_tokens_per_second(
        (point.llm_tokens_per_second() - previous.llm_tokens_per_second()) / nodes);
    value->set_marginal_efficiency_ratio(value->added_llm_tokens_per_second() /
                                         (first.llm_tokens_per_second() / first.nodes()));
    value->set_added_gpu_days((point.gpu_days() - previous.gpu_days()) / nodes);
    value->set_added_cost((point.cost() - previous.cost()) / nodes);
    value->set_saved_seconds((previous.training_seconds() - point.training_seconds()) / nodes);
  }

  void FillResize(const CurveSize& size, const v1::Plan& plan, const Fitting& from,
                  const StateSplit& to, v1::CurvePoint* point) const {
    const v1::CurvePoint& previous = *from.point;
    v1::ResizeCost* cost = point->mutable_resize();
    const double rate = jobs_.resize.checkpoint_bytes_per_second;
    const int64_t bytes = planner::CheckpointBytes(size.job.model, size.job.training);
    cost->set_checkpoint_bytes(bytes);
    cost->set_written_bytes_per_gpu((bytes + previous.gpu_count() - 1) / previous.gpu_count());
    int64_t read = 0;
    for (const v1::Stage& stage : plan.stages()) {
      read = std::max(read, stage.memory().weights_bytes() + stage.memory().optimizer_bytes());
    }
    cost->set_read_bytes_per_gpu(read);
    const double per_node = static_cast<double>(size.gpu_count) / static_cast<double>(size.nodes);
    cost->set_save_seconds(static_cast<double>(bytes) / (previous.nodes() * rate));
    cost->set_load_seconds(static_cast<double>(read) * per_node / rate);
    cost->set_restart_seconds(jobs_.resize.restart_seconds);
    const double total = cost->save_seconds() + cost->load_seconds() + cost->restart_seconds();
    cost->set_total_seconds(total);
    cost->set_gpu_days(total / kSecondsPerDay * static_cast<double>(size.gpu_count));
    const bool weights = ReshardsWeights(from.split, to);
    cost->set_reshards_weights(weights);
    cost->set_reshards_optimizer(weights || from.split.shards != to.shards);
    const double gained = point->samples_per_second() - previous.samples_per_second();
    if (gained > 0) cost->set_break_even_seconds(total * point->samples_per_second() / gained);
  }

  const CurveJobs& jobs_;
  v1::PlanCurveResponse& out_;
  std::vector<int> filled_;                    // points filled in, by pool
  std::vector<std::vector<Fitting>> fitting_;  // sizes that fit, by pool
};

void AddFigure(const char* name, v1::Basis basis, std::string detail, v1::PlanCurveResponse* out) {
  v1::FigureBasis* figure = out->add_resize_figures();
  figure->set_figure(name);
  figure->set_basis(basis);
  figure->set_detail(std::move(detail));
}

void AddResizeFigures(const ResizeTerms& resize, v1::PlanCurveResponse* out) {
  AddFigure("resize.checkpoint_bytes", v1::BASIS_ASSUMED,
            "counted from the model: 16-bit weights and the optimizer's states of what trains, "
            "each byte written once",
            out);
  AddFigure("resize.read_bytes", v1::BASIS_ASSUMED,
            "each GPU reads the weights and the optimizer's states that it holds, at the rate of "
            "writing",
            out);
  const std::string rate = NumberText(resize.checkpoint_bytes_per_second / 1e9) + " GB/s per node";
  if (resize.rate_given) {
    AddFigure("resize.checkpoint_rate", v1::BASIS_GIVEN, rate, out);
  } else {
    AddFigure(
        "resize.checkpoint_rate", v1::BASIS_ASSUMED,
        rate + ": Llama 3's storage sustained 2 TB/s for 2048 nodes (arXiv:2407.21783, 3.3.1)",
        out);
  }
  const std::string restart = NumberText(resize.restart_seconds) + " s";
  if (resize.restart_given) {
    AddFigure("resize.restart", v1::BASIS_GIVEN, restart, out);
  } else {
    AddFigure("resize.restart", v1::BASIS_ASSUMED,
              restart + " to stop and start all processes; not measured", out);
  }
}

}  // namespace

bool CurveToProto(const CurveJobs& curve, const std::vector<CurvePlan>& plans,
                  v1::PlanCurveResponse* out) {
  CurveAnswer answer(curve, out);
  for (size_t i = 0; i < curve.sizes.size(); ++i) {
    if (!answer.Add(curve.sizes[i], plans[i])) return false;
  }
  AddResizeFigures(curve.resize, out);
  out->set_label(curve.label);
  return true;
}

void CalibrationToProto(const CalibrationFacts& calibration, v1::PlanCurveResponse* out) {
  out->set_calibration_revision(calibration.revision);
  if (calibration.unconfirmed_seconds)
    out->set_calibration_unconfirmed_seconds(*calibration.unconfirmed_seconds);
}

}  // namespace evenkeel::server
