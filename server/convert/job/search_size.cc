#include "server/convert/job/search_size.h"

#include <string>

#include "planner/space/degrees.h"

namespace evenkeel::server {
SearchSize SearchSizeOf(const planner::Job& job) {
  SearchSize size;
  size.layers = TransformerLayers(job.model);
  // For cuts, a whole encoder counts as one layer.
  const int64_t apart =
      planner::KeepsEncoderWhole(job) ? job.model.language_model.layers + 1 : size.layers;
  planner::ForEachDegrees(
      job, [&](const planner::Parallelism& p, const planner::DegreeRange& virtual_stages) {
        const int64_t window = apart - p.pipeline + 1;
        ++size.degrees;
        size.segments += p.pipeline * window * (window + 1) / 2;
        size.chunked += virtual_stages.max - virtual_stages.min + 1;
        return true;
      });
  return size;
}

void CheckSearchSize(const planner::Job& job, const FieldPath& job_path, ViolationSink& sink) {
  const int64_t chunked = SearchSizeOf(job).chunked;
  if (chunked <= kMaxChunked) return;
  const FieldPath cluster = job_path.Child("cluster");
  const FieldPath pool = cluster.Child("pools", 0);
  sink.Add(pool.Child("gpu_count"),
           "leaves " + std::to_string(chunked) +
               " combinations of degrees and virtual stages to search; accepted: at most " +
               std::to_string(kMaxChunked) +
               ", by narrower job.constraints, such as virtual_stages and expert_parallel");
}

}  // namespace evenkeel::server
