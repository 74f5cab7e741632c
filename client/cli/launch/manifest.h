// Kubernetes manifests of a plan: one pod per node, with the GPUs, host memory and /dev/shm that
// the plan's placement names.
#ifndef EVENKEEL_CLIENT_CLI_LAUNCH_MANIFEST_H_
#define EVENKEEL_CLIENT_CLI_LAUNCH_MANIFEST_H_

#include <string>

#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

struct ManifestOptions {
  std::string kind;  // "pytorchjob" (training-operator v1), "trainjob" (trainer v2), "jobset"
  std::string image;
  std::string name = "training";              // a DNS label
  std::string name_space;                     // empty for the caller's namespace
  std::string program;                        // as in RenderLaunch
  std::string runtime = "torch-distributed";  // ClusterTrainingRuntime of a TrainJob
  std::string gpu_resource = "nvidia.com/gpu";
};

// Returns YAML of one or two documents: the files of the settings as a ConfigMap, and the job.
// Throws CommandError(kBadInput) if an option is not valid.
std::string RenderManifest(const v1::Plan& plan, const v1::Launch& launch,
                           const ManifestOptions& options);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_LAUNCH_MANIFEST_H_
