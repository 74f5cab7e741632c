#include "client/cli/launch/manifest.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/launch/launch_command.h"
#include "client/cli/launch/yaml.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFolder = "/etc/evenkeel/launch";  // where the ConfigMap is mounted
constexpr int kPort = 29500;
constexpr int64_t kMebi = int64_t{1} << 20;

std::string Mebibytes(int64_t bytes) { return fmt::format("{}Mi", (bytes + kMebi - 1) / kMebi); }

class Manifest {
 public:
  Manifest(const v1::Plan& plan, const v1::Launch& launch, const ManifestOptions& options)
      : plan_(plan), launch_(launch), options_(options) {}

  std::string Render() {
    std::string text;
    if (launch_.files_size() > 0) text = ToYaml(ConfigMap()) + "---\n";
    return text + ToYaml(Job());
  }

 private:
  int nodes() const { return plan_.placement().node_count(); }
  int gpus() const { return plan_.placement().gpus_per_node(); }

  Json Metadata(const std::string& name) const {
    Json metadata = {{"name", name}};
    if (!options_.name_space.empty()) metadata["namespace"] = options_.name_space;
    metadata["annotations"] = Annotations();
    return metadata;
  }

  // Returns the annotations that the scheduler plugin reads (evenkeel.dev/model ...), and the
  // plan's id.
  Json Annotations() const {
    const std::string id = plan_.plan_id();
    return {{"evenkeel.dev/plan", id},
            {"evenkeel.dev/model", plan_.subject().model()},
            {"evenkeel.dev/spec-hash", id.substr(id.find('-') + 1)},
            {"evenkeel.dev/gpu-type", plan_.subject().gpu_type()},
            {"evenkeel.dev/pods", std::to_string(nodes())}};
  }

  Json ConfigMap() const {
    Json data = Json::object();
    for (const v1::LaunchFile& file : launch_.files()) data[file.name()] = file.content();
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", Metadata(options_.name + "-launch")},
            {"data", data}};
  }

  bool HasModules() const {
    for (const v1::LaunchFile& file : launch_.files()) {
      const std::string& name = file.name();
      if (name.size() > 3 && name.compare(name.size() - 3, 3, ".py") == 0) return true;
    }
    return false;
  }

  // Returns the torchrun command. `$(...)` is Kubernetes' syntax for variables that the job's
  // controller sets.
  Json Torchrun(const std::string& rank, const std::string& address,
                const std::string& port) const {
    Json words = Json::array({"torchrun", fmt::format("--nnodes={}", nodes()),
                              fmt::format("--nproc-per-node={}", gpus())});
    if (!rank.empty()) {
      words.push_back("--node-rank=" + rank);
      words.push_back("--master-addr=" + address);
      words.push_back("--master-port=" + port);
    }
    return words;
  }

  Json Arguments() const {
    Json words = Json::array();
    for (std::string word : ProgramWords(launch_, options_.program)) {
      for (const v1::LaunchFile& file : launch_.files()) {
        if (word == file.name()) word = fmt::format("{}/{}", kFolder, word);
      }
      words.push_back(word);
    }
    return words;
  }

  Json FromAnnotation(const std::string& name, const std::string& annotation) const {
    return {
        {"name", name},
        {"valueFrom",
         {{"fieldRef", {{"fieldPath", fmt::format("metadata.annotations['{}']", annotation)}}}}}};
  }

  // Returns the variables. Stage and rank are empty if no scheduler plugin wrote them.
  Json Environment(bool by_annotation) const {
    Json variables = Json::array();
    if (by_annotation) {
      variables.push_back(FromAnnotation("EVENKEEL_PLAN_ID", "evenkeel.dev/plan"));
    } else {
      variables.push_back({{"name", "EVENKEEL_PLAN_ID"}, {"value", plan_.plan_id()}});
    }
    variables.push_back(FromAnnotation("EVENKEEL_STAGE", "evenkeel.dev/stage"));
    variables.push_back(FromAnnotation("EVENKEEL_RANK", "evenkeel.dev/rank"));
    for (const v1::LaunchVariable& variable : launch_.environment())
      variables.push_back({{"name", variable.name()}, {"value", variable.value()}});
    // It replaces the image's own PYTHONPATH, so it is set only if there is something to import.
    if (HasModules()) variables.push_back({{"name", "PYTHONPATH"}, {"value", kFolder}});
    return variables;
  }

  Json Resources() const {
    const Json amounts = {{options_.gpu_resource, std::to_string(gpus())},
                          {"memory", Mebibytes(plan_.placement().host_memory_bytes())}};
    return {{"requests", amounts}, {"limits", amounts}};
  }

  Json Mounts() const {
    Json mounts = Json::array({{{"name", "shm"}, {"mountPath", "/dev/shm"}}});
    if (launch_.files_size() > 0)
      mounts.push_back({{"name", "launch"}, {"mountPath", kFolder}, {"readOnly", true}});
    return mounts;
  }

  Json Volumes() const {
    Json volumes = Json::array(
        {{{"name", "shm"},
          {"emptyDir",
           {{"medium", "Memory"}, {"sizeLimit", Mebibytes(plan_.placement().shm_bytes())}}}}});
    if (launch_.files_size() > 0)
      volumes.push_back({{"name", "launch"}, {"configMap", {{"name", options_.name + "-launch"}}}});
    return volumes;
  }

  Json PodSpec(const std::string& container, const Json& command) const {
    Json image = {{"name", container},
                  {"image", options_.image},
                  {"command", command},
                  {"args", Arguments()},
                  {"env", Environment(/*by_annotation=*/true)},
                  {"resources", Resources()},
                  {"volumeMounts", Mounts()}};
    return {{"restartPolicy", "Never"},
            {"containers", Json::array({std::move(image)})},
            {"volumes", Volumes()}};
  }

  Json Template(const Json& spec) const {
    return {{"metadata", {{"annotations", Annotations()}}}, {"spec", spec}};
  }

  Json Job() const {
    if (options_.kind == "pytorchjob") return PyTorchJob();
    return options_.kind == "trainjob" ? TrainJob() : JobSet();
  }

  // Returns a PyTorchJob. The operator sets RANK (of the pod), MASTER_ADDR and MASTER_PORT.
  Json PyTorchJob() const {
    Json spec = PodSpec("pytorch", Torchrun("$(RANK)", "$(MASTER_ADDR)", "$(MASTER_PORT)"));
    spec.erase("restartPolicy");
    const auto replicas = [&](int count) {
      return Json{{"replicas", count}, {"restartPolicy", "Never"}, {"template", Template(spec)}};
    };
    Json types = {{"Master", replicas(1)}};
    if (nodes() > 1) types["Worker"] = replicas(nodes() - 1);
    return {{"apiVersion", "kubeflow.org/v1"},
            {"kind", "PyTorchJob"},
            {"metadata", Metadata(options_.name)},
            {"spec", {{"nprocPerNode", std::to_string(gpus())}, {"pytorchReplicaSpecs", types}}}};
  }

  // Returns a TrainJob. The runtime sets PET_* for torchrun. Pods get no annotations from the job.
  Json TrainJob() const {
    const Json trainer = {{"image", options_.image},
                          {"command", Json::array({"torchrun"})},
                          {"args", Arguments()},
                          {"numNodes", nodes()},
                          {"numProcPerNode", gpus()},
                          {"resourcesPerNode", Resources()},
                          {"env", Environment(/*by_annotation=*/false)}};
    const Json override_of_pods = {
        {"targetJobs", Json::array({{{"name", "node"}}})},
        {"volumes", Volumes()},
        {"containers", Json::array({{{"name", "node"}, {"volumeMounts", Mounts()}}})}};
    return {{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
            {"kind", "TrainJob"},
            {"metadata", Metadata(options_.name)},
            {"spec",
             {{"annotations", Annotations()},
              {"runtimeRef", {{"name", options_.runtime}}},
              {"trainer", trainer},
              {"podSpecOverrides", Json::array({override_of_pods})}}}};
  }

  Json JobSet() const {
    const std::string first = fmt::format("{0}-node-0-0.{0}", options_.name);
    const Json spec =
        PodSpec("trainer", Torchrun("$(JOB_COMPLETION_INDEX)", first, std::to_string(kPort)));
    const Json job = {{"parallelism", nodes()},
                      {"completions", nodes()},
                      {"completionMode", "Indexed"},
                      {"backoffLimit", 0},
                      {"template", Template(spec)}};
    return {
        {"apiVersion", "jobset.x-k8s.io/v1alpha2"},
        {"kind", "JobSet"},
        {"metadata", Metadata(options_.name)},
        {"spec",
         {{"network", {{"enableDNSHostnames", true}, {"subdomain", options_.name}}},
          {"replicatedJobs",
           Json::array({{{"name", "node"}, {"replicas", 1}, {"template", {{"spec", job}}}}})}}}};
  }

  const v1::Plan& plan_;
  const v1::Launch& launch_;
  const ManifestOptions& options_;
};

// Checks a name by RFC 1123. Pods of a JobSet are called NAME-node-0-INDEX, with at most 63
// characters.
void CheckLabel(const char* flag, const std::string& text) {
  bool good = !text.empty() && text.size() <= 45 && text.front() != '-' && text.back() != '-';
  for (const char c : text)
    good = good && (std::islower(static_cast<unsigned char>(c)) ||
                    std::isdigit(static_cast<unsigned char>(c)) || c == '-');
  if (good) return;
  throw CommandError(ExitCode::kBadInput,
                     fmt::format("{}: \"{}\" is not a valid Kubernetes name: give at most 45 of "
                                 "a-z, 0-9 and -, with no - at either end",
                                 flag, text));
}

}  // namespace

std::string RenderManifest(const v1::Plan& plan, const v1::Launch& launch,
                           const ManifestOptions& options) {
  CheckLabel("--name", options.name);
  if (!options.name_space.empty()) CheckLabel("--namespace", options.name_space);
  if (options.image.empty())
    throw CommandError(ExitCode::kBadInput,
                       "--manifest needs --image NAME: the container image that has the trainer");
  return Manifest(plan, launch, options).Render();
}

}  // namespace evenkeel::cli
