#include "server/convert/job/gpu_from_proto.h"

#include <cstdint>
#include <string>

#include "evenkeel/v1/job.pb.h"
#include "planner/hardware/gpus.h"
#include "planner/job.h"
#include "planner/model/model_spec.h"
#include "server/convert/checks.h"

namespace evenkeel::server {
namespace {

constexpr RealRange kLinkRates = {1e8, 1e13};
constexpr double kPcieGen4x16 = 31.5e9;

std::string PeakText(const planner::GpuSpec& gpu) {
  return NumberText(gpu.dense_16bit_flops / 1e12) + " TFLOP/s, dense, 16 bit";
}

const planner::GpuEntry* KnownGpu(const std::string& name, const FieldPath& field,
                                  ViolationSink& sink) {
  const planner::GpuEntry* entry = planner::FindGpu(name);
  if (entry == nullptr) {
    sink.Add(field, "unknown GPU type " + Quoted(name) +
                        NearestText(planner::SimilarGpus(name, kSuggestions)) +
                        "; ListGpuTypes (`evenkeelctl gpus --local`) has all names");
  }
  return entry;
}

void NamedGpu(const std::string& name, const FieldPath& field, ViolationSink& sink,
              planner::GpuSpec* gpu, planner::FigureBasis* peak) {
  const planner::GpuEntry* entry = KnownGpu(name, field, sink);
  if (entry == nullptr) return;
  *gpu = entry->spec;
  *peak = {.figure = "gpu.peak",
           .basis = planner::Basis::kPublished,
           .detail = PeakText(*gpu) + "; " + entry->source};
}

void DescribedGpu(const v1::Gpu& from, const FieldPath& path, ViolationSink& sink,
                  planner::GpuSpec* gpu, planner::FigureBasis* peak) {
  const FieldPath name = path.Child("name");
  if (from.name().empty()) {
    sink.Add(name, "required: a name for the plan that the catalogue does not have");
  } else if (CheckText(sink, name, from.name()) && planner::FindGpu(from.name()) != nullptr) {
    sink.Add(name, Quoted(from.name()) +
                       " is a name of the catalogue: use gpu_type, or choose another name");
  }
  gpu->name = from.name();
  gpu->dense_16bit_flops = CheckRequiredReal(sink, path.Child("dense_16bit_flops_per_second"),
                                             from.dense_16bit_flops_per_second(), {1e10, 1e17});
  gpu->memory_bytes = CheckRequiredInt(sink, path.Child("memory_bytes"), from.memory_bytes(),
                                       {int64_t{1} << 30, int64_t{1} << 42});
  gpu->hbm_bytes_per_second = CheckRequiredReal(sink, path.Child("memory_bytes_per_second"),
                                                from.memory_bytes_per_second(), {1e10, 1e15});
  gpu->scaleup_bytes_per_second = CheckRealOr(sink, path.Child("scaleup_bytes_per_second"),
                                              from.scaleup_bytes_per_second(), kLinkRates, 0);
  gpu->pcie_bytes_per_second = CheckRealOr(sink, path.Child("pcie_bytes_per_second"),
                                           from.pcie_bytes_per_second(), kLinkRates, kPcieGen4x16);
  const planner::GpuEntry* like = nullptr;
  if (!from.costs_like().empty())
    like = KnownGpu(from.costs_like(), path.Child("costs_like"), sink);
  if (like != nullptr) gpu->bfloat16 = like->spec.bfloat16;
  gpu->costs = planner::CostsLike(*gpu, like);
  *peak = {.figure = "gpu.peak", .basis = planner::Basis::kGiven, .detail = PeakText(*gpu)};
}

}  // namespace

bool GpuFromProto(const v1::GpuPool& from, const FieldPath& path, ViolationSink& sink,
                  planner::GpuSpec* gpu, planner::FigureBasis* peak) {
  const int64_t before = sink.count();
  const bool named = !from.gpu_type().empty();
  if (named) NamedGpu(from.gpu_type(), path.Child("gpu_type"), sink, gpu, peak);
  if (from.has_gpu()) {
    const FieldPath described = path.Child("gpu");
    if (named) sink.Add(described, "must be unset where gpu_type is set: give one of them");
    DescribedGpu(from.gpu(), described, sink, gpu, peak);
  }
  if (!named && !from.has_gpu()) {
    sink.Add(path.Child("gpu_type"),
             "required unless gpu is set: a name of ListGpuTypes (evenkeelctl gpus), such as "
             "a100-sxm-80gb");
  }
  return sink.count() == before;
}

bool DescribedGpuFromProto(const v1::Gpu& from, const FieldPath& path, ViolationSink& sink,
                           planner::GpuSpec* gpu) {
  const int64_t before = sink.count();
  planner::FigureBasis peak;
  DescribedGpu(from, path, sink, gpu, &peak);
  return sink.count() == before;
}

}  // namespace evenkeel::server
