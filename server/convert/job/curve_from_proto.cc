#include "server/convert/job/curve_from_proto.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "evenkeel/v1/curve.pb.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "planner/hardware/gpus.h"
#include "planner/space/parallelism.h"
#include "server/convert/checks.h"
#include "server/convert/unknown_fields.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kNodes = {1, 65536};
constexpr IntRange kCurveGpusPerNode = {1, 1024};
constexpr int64_t kUnsetGlobalBatch = 512;
constexpr int64_t kGlobalBatchAtMost = 10'000'000;
constexpr int64_t kCurveLabelBytes = 256;
constexpr IntRange kCurveRevisions = {0, INT64_MAX};
constexpr RealRange kResizeRates = {1e6, 1e13};
constexpr RealRange kRestartSeconds = {0, 1e7};
constexpr double kAssumedRate = 1e9, kAssumedRestart = 120;
constexpr size_t kCurveBinsAtMost = 524'288;  // bins x sizes, as for offers

// Returns the GPUs of a node. A value out of range and an unknown type are reported where the pool
// is converted.
int64_t GpusPerNode(const v1::GpuPool& pool) {
  const int64_t given = pool.gpus_per_node();
  const bool good = given >= kCurveGpusPerNode.min && given <= kCurveGpusPerNode.max;
  if (good) return given;
  const planner::GpuEntry* entry = planner::FindGpu(pool.gpu_type());
  return entry == nullptr ? planner::GpuSpec().node_gpus : entry->spec.node_gpus;
}

class Converter {
 public:
  Converter(const v1::PlanCurveRequest& request, CurveJobs* curve, const DatasetSource& datasets,
            const CalibrationSource& calibrations)
      : request_(request),
        curve_(*curve),
        datasets_(datasets),
        calibrations_(calibrations),
        sink_(KeptViolations(request.max_violations())) {}

  std::vector<Violation> Run() {
    curve_ = CurveJobs();
    curve_.label = request_.label();
    narrowed_.set_max_violations(request_.max_violations());
    if (request_.has_job()) *narrowed_.mutable_job() = request_.job();
    CheckPools();
    std::vector<Violation> violations = CheckJob();
    ConvertSizes();
    ConvertTerms();
    v1::PlanCurveRequest rest = request_;
    rest.clear_job();  // checked with the job
    CheckNoUnknownFields(rest, sink_);
    for (Violation& violation : sink_.Take()) violations.push_back(std::move(violation));
    if (!violations.empty()) return violations;
    return ConvertJobs();
  }

 private:
  const v1::Cluster& cluster() const { return request_.job().cluster(); }

  void CheckPools() {
    const FieldPath path("job");
    const FieldPath of_cluster = path.Child("cluster");
    for (int i = 0; i < cluster().pools_size(); ++i) {
      const FieldPath pool = of_cluster.Child("pools", i);
      const std::string why = "must be unset: `nodes` says at which sizes to plan";
      if (cluster().pools(i).gpu_count() != 0) sink_.Add(pool.Child("gpu_count"), why);
      if (cluster().pools(i).gpu_counts_size() > 0) sink_.Add(pool.Child("gpu_counts"), why);
    }
  }

  // Checks everything about the job that does not depend on its size, on one node of each pool.
  std::vector<Violation> CheckJob() {
    v1::PlanJobRequest one = narrowed_;
    if (one.has_job()) {
      for (v1::GpuPool& pool : *one.mutable_job()->mutable_cluster()->mutable_pools()) {
        pool.set_gpu_count(static_cast<int32_t>(GpusPerNode(pool)));
        pool.clear_gpu_counts();
      }
    }
    planner::Job job;
    std::vector<Violation> violations = JobFromProto(one, &job, datasets_, calibrations_);
    bins_ = job.dataset.bins.size();
    // If one node does not satisfy the constraints, other sizes still may.
    std::erase_if(violations, [](const Violation& v) { return DependsOnSize(v); });
    return violations;
  }

  static bool DependsOnSize(const Violation& violation) {
    return violation.field.starts_with("job.constraints") ||
           violation.field.ends_with("].gpu_count");
  }

  void ConvertSizes() {
    const FieldPath path("nodes");
    const int ranges = request_.nodes_size(), pools = cluster().pools_size();
    if (ranges == 0) {
      sink_.Add(path,
                "required: the numbers of nodes, as {min: 1, max: 64} or {counts: [1, 2, 4]}");
      return;
    }
    if (ranges != 1 && ranges != pools) {
      sink_.Add(path, "must be one range for all pools, or one for each of the " +
                          std::to_string(pools) + " pools, but are " + std::to_string(ranges));
      return;
    }
    std::vector<std::set<int64_t>> counts;
    for (int i = 0; i < ranges; ++i) counts.push_back(Counts(i));
    size_t all = 0;
    for (int i = 0; i < pools; ++i) all += counts[static_cast<size_t>(ranges == 1 ? 0 : i)].size();
    if (all > kCurveSizesAtMost) {
      sink_.Add(path, "must be at most " + std::to_string(kCurveSizesAtMost) +
                          " sizes over all pools, but are " + std::to_string(all) +
                          ": ask for fewer, with a larger step or with counts");
      return;
    }
    if (all * bins_ > kCurveBinsAtMost) {
      sink_.Add(path, std::to_string(all) + " sizes x " + std::to_string(bins_) +
                          " bins of the dataset must be at most " +
                          std::to_string(kCurveBinsAtMost) +
                          ": ask for fewer sizes, or merge neighbouring bins");
      return;
    }
    for (int i = 0; i < pools; ++i) AddSizes(i, ranges == 1 ? 0 : i, counts);
  }

  // Returns the numbers of nodes of a range, or none if it is not valid.
  std::set<int64_t> Counts(int index) {
    const v1::NodeRange& range = request_.nodes(index);
    const FieldPath path("nodes", index);
    const int64_t before = sink_.count();
    std::set<int64_t> counts;
    if (range.counts_size() > 0) {
      if (range.min() != 0) sink_.Add(path.Child("min"), "must be unset where counts is set");
      if (range.max() != 0) sink_.Add(path.Child("max"), "must be unset where counts is set");
      if (range.step() != 0) sink_.Add(path.Child("step"), "must be unset where counts is set");
      ListCheck list(sink_, path, "counts");
      for (int i = 0; i < range.counts_size(); ++i) {
        list.CheckInt(i, range.counts(i), kNodes);
        if (!counts.insert(range.counts(i)).second)
          list.Fail(i, "must differ from the others, but " + std::to_string(range.counts(i)) +
                           " occurs twice");
      }
      return list.failed() || sink_.count() != before ? std::set<int64_t>() : counts;
    }
    const int64_t min = CheckRequiredInt(sink_, path.Child("min"), range.min(), kNodes);
    const int64_t max = CheckRequiredInt(sink_, path.Child("max"), range.max(), kNodes);
    const int64_t step = CheckIntOr(sink_, path.Child("step"), range.step(), kNodes, 1);
    if (sink_.count() != before) return {};
    if (max < min) {
      sink_.Add(path.Child("max"), "must be at least min (" + std::to_string(min) + "), but is " +
                                       std::to_string(max));
      return {};
    }
    for (int64_t nodes = min; nodes <= max; nodes += step) counts.insert(counts.end(), nodes);
    return counts;
  }

  void AddSizes(int pool, int range, const std::vector<std::set<int64_t>>& counts) {
    const int64_t per_node = GpusPerNode(cluster().pools(pool));
    const std::set<int64_t>& nodes = counts[static_cast<size_t>(range)];
    if (!nodes.empty() && *nodes.rbegin() * per_node > planner::kGpusAtMost) {
      sink_.Add(FieldPath("nodes", range),
                std::to_string(*nodes.rbegin()) + " nodes of " + std::to_string(per_node) +
                    " GPUs must be at most " + std::to_string(planner::kGpusAtMost) + " GPUs, " +
                    std::to_string(planner::kGpusAtMost / per_node) + " nodes");
      return;
    }
    for (const int64_t n : nodes) {
      CurveSize size;
      size.pool = static_cast<size_t>(pool);
      size.nodes = n;
      size.gpu_count = n * per_node;
      curve_.sizes.push_back(std::move(size));
    }
    curve_.pools = std::max(curve_.pools, static_cast<size_t>(pool) + 1);
  }

  void ConvertTerms() {
    CheckEnum(sink_, FieldPath("batch"), request_.batch(), v1::CurveBatch_IsValid,
              "CURVE_BATCH_FIXED, CURVE_BATCH_PER_NODE");
    const FieldPath batch_nodes("batch_nodes");
    if (request_.batch() == v1::CURVE_BATCH_PER_NODE) {
      CheckRequiredInt(sink_, batch_nodes, request_.batch_nodes(), kNodes);
      CheckLargestBatch();
    } else if (request_.batch_nodes() != 0) {
      sink_.Add(batch_nodes, "must be unset unless batch is CURVE_BATCH_PER_NODE");
    }
    CheckEnum(sink_, FieldPath("search"), request_.search(), v1::CurveSearch_IsValid,
              "CURVE_SEARCH_FULL, CURVE_SEARCH_SHORT");
    curve_.short_search = request_.search() == v1::CURVE_SEARCH_SHORT;
    ResizeTerms& resize = curve_.resize;
    const double of_job = request_.job().reliability().checkpoint_bytes_per_second();
    resize.rate_given = request_.checkpoint_bytes_per_second() != 0 || of_job > 0;
    resize.checkpoint_bytes_per_second = CheckRealOr(
        sink_, FieldPath("checkpoint_bytes_per_second"), request_.checkpoint_bytes_per_second(),
        kResizeRates, of_job > 0 ? of_job : kAssumedRate);
    resize.restart_given = request_.has_restart_seconds();
    resize.restart_seconds = resize.restart_given
                                 ? CheckReal(sink_, FieldPath("restart_seconds"),
                                             request_.restart_seconds(), kRestartSeconds) +
                                       0.0
                                 : kAssumedRestart;
    CheckInt(sink_, FieldPath("min_calibration_revision"), request_.min_calibration_revision(),
             kCurveRevisions);
    CheckText(sink_, FieldPath("label"), request_.label(), kCurveLabelBytes);
  }

  int64_t BatchAt(int64_t nodes) const {
    const int64_t given = request_.job().training().global_batch_samples();
    const int64_t batch = given == 0 ? kUnsetGlobalBatch : given;
    if (request_.batch() != v1::CURVE_BATCH_PER_NODE) return batch;
    const int64_t at = request_.batch_nodes();
    return std::max<int64_t>(1, (2 * batch * nodes + at) / (2 * at));
  }

  // Only a valid batch and number of nodes can be multiplied.
  void CheckLargestBatch() {
    const int64_t given = request_.job().training().global_batch_samples();
    if (request_.batch_nodes() < kNodes.min || request_.batch_nodes() > kNodes.max) return;
    if (given < 0 || given > kGlobalBatchAtMost || curve_.sizes.empty()) return;
    int64_t most = 0;
    for (const CurveSize& size : curve_.sizes) most = std::max(most, size.nodes);
    if (BatchAt(most) <= kGlobalBatchAtMost) return;
    sink_.Add(FieldPath("batch_nodes"),
              std::to_string(most) + " nodes would have a global batch of " +
                  std::to_string(BatchAt(most)) + " samples; accepted: at most " +
                  std::to_string(kGlobalBatchAtMost) + ", by more batch_nodes or fewer nodes");
  }

  std::vector<Violation> ConvertJobs() {
    std::vector<Violation> impossible;  // violations of the first such size
    bool any = false;
    for (CurveSize& size : curve_.sizes) {
      v1::Cluster* only = narrowed_.mutable_job()->mutable_cluster();
      only->clear_pools();
      *only->add_pools() = cluster().pools(static_cast<int>(size.pool));
      only->mutable_pools(0)->set_gpu_count(static_cast<int32_t>(size.gpu_count));
      size.global_batch_samples = BatchAt(size.nodes);
      if (request_.batch() == v1::CURVE_BATCH_PER_NODE) {
        narrowed_.mutable_job()->mutable_training()->set_global_batch_samples(
            size.global_batch_samples);
      }
      std::vector<Violation> violations =
          JobFromProto(narrowed_, &size.job, datasets_, calibrations_);
      const bool constraints_alone =
          std::all_of(violations.begin(), violations.end(),
                      [](const Violation& v) { return v.field.starts_with("job.constraints"); });
      if (!constraints_alone) return Renamed(size, std::move(violations));
      if (violations.empty()) {
        any = true;
        continue;
      }
      size.impossible = violations.front().field + ": " + violations.front().description;
      if (impossible.empty()) impossible = std::move(violations);
    }
    return any ? std::vector<Violation>() : impossible;
  }

  // Rewrites the paths to those of the whole request.
  std::vector<Violation> Renamed(const CurveSize& size, std::vector<Violation> violations) const {
    static constexpr std::string_view kPool = "job.cluster.pools[0]";
    const size_t range = request_.nodes_size() == 1 ? 0 : size.pool;
    for (Violation& violation : violations) {
      if (!violation.field.starts_with(kPool)) continue;
      const std::string rest = violation.field.substr(kPool.size());
      if (rest == ".gpu_count") {
        violation.field = "nodes[" + std::to_string(range) + "]";
        violation.description =
            "at " + std::to_string(size.nodes) + " nodes: " + violation.description;
      } else {
        violation.field = "job.cluster.pools[" + std::to_string(size.pool) + "]" + rest;
      }
    }
    return violations;
  }

  const v1::PlanCurveRequest& request_;
  CurveJobs& curve_;
  const DatasetSource& datasets_;
  const CalibrationSource& calibrations_;
  ViolationSink sink_;
  v1::PlanJobRequest narrowed_;
  size_t bins_ = 0;
};

}  // namespace

std::vector<Violation> CurveFromProto(const v1::PlanCurveRequest& request, CurveJobs* curve,
                                      const DatasetSource& datasets,
                                      const CalibrationSource& calibrations) {
  return Converter(request, curve, datasets, calibrations).Run();
}

}  // namespace evenkeel::server
