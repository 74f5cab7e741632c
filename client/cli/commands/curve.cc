// `curve`: shows a job by number of nodes.
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/base/flags.h"
#include "client/cli/base/parse_number.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/commands/commands.h"
#include "client/cli/job/job_flags.h"
#include "client/cli/job/priced.h"
#include "client/cli/launch/launch_command.h"
#include "client/cli/render/curve.h"
#include "client/cli/render/plan.h"

namespace evenkeel::cli {
namespace {

struct CurveFlags {
  JobFlags job;
  std::vector<std::string> nodes, types, launch;
  std::optional<int32_t> batch_nodes;
  std::optional<double> resize_gbytes, resize_restart_seconds;
  bool short_search = false, csv = false;
};

[[noreturn]] void RefuseCurve(const std::string& message) {
  throw CommandError(ExitCode::kBadInput, message);
}

int32_t NodesOf(const std::string& text, const std::string& whole) {
  const std::optional<int32_t> value = ParseNumber<int32_t>(text);
  if (value && *value >= 1 && *value <= 65536) return *value;
  RefuseCurve(
      fmt::format("--nodes: \"{}\" is not MIN..MAX, MIN..MAX:STEP or N,N,..., each from 1 to "
                  "65536, such as 1..64, 8..64:8 or 1,2,4,8",
                  whole));
}

void ParseNodes(const std::string& text, v1::NodeRange* range) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) {
    for (const std::string& number : std::vector<std::string>(absl::StrSplit(text, ',')))
      range->add_counts(NodesOf(number, text));
    return;
  }
  const size_t colon = text.find(':', dots);
  const std::string max =
      text.substr(dots + 2, colon == std::string::npos ? colon : colon - dots - 2);
  range->set_min(NodesOf(text.substr(0, dots), text));
  range->set_max(NodesOf(max, text));
  if (range->min() > range->max())
    RefuseCurve(fmt::format("--nodes {}: the first number must not exceed the second", text));
  if (colon != std::string::npos) range->set_step(NodesOf(text.substr(colon + 1), text));
}

// Adds a pool like the first, of another GPU type: "TYPE" or "TYPE@PRICE".
void AddType(const std::string& text, v1::Cluster* cluster) {
  v1::GpuPool pool = cluster->pools(0);
  pool.clear_gpu();
  pool.clear_price_per_gpu_hour();
  pool.clear_intra_node_bytes_per_second();  // a link belongs to its type, and so does its domain
  if (pool.network_tiers_size() == 1) pool.clear_network_tiers();
  if (pool.network_tiers_size() > 1) pool.mutable_network_tiers(0)->Clear();
  const std::optional<Priced> type = ParsePriced(text);
  if (!type)
    RefuseCurve(fmt::format("--type: \"{}\" is not TYPE[@PRICE], such as h200@3.80", text));
  pool.set_gpu_type(type->what);
  if (type->price) pool.set_price_per_gpu_hour(*type->price);
  *cluster->add_pools() = pool;
}

v1::PlanCurveRequest CurveRequest(const CurveFlags& flags) {
  if (!flags.job.gpus.empty() || !flags.job.pools.empty())
    RefuseCurve(
        "--gpus and --pool are for `plan`: here --nodes says how many, and --type adds "
        "other GPU types");
  const v1::PlanJobRequest plan = RequestFromFlags(flags.job);
  if (plan.compare_sizes() || plan.compare_precisions() || plan.compare_shardings() ||
      plan.has_max_alternatives() || plan.no_cache() || plan.has_max_age_seconds() ||
      plan.validate_only()) {
    RefuseCurve(
        "compare_sizes, compare_precisions, compare_shardings, max_alternatives, no_cache, "
        "max_age_seconds and validate_only are for `plan`, by flag or in the job file: a curve "
        "shows plans without");
  }
  if (plan.job().has_objective())
    RefuseCurve(
        "--objective and --deadline are for `plan`, by flag or in the job file: a curve shows "
        "every size");
  v1::PlanCurveRequest request;
  *request.mutable_job() = plan.job();
  AddLaunchFrameworks(flags.launch, flags.job, request.mutable_job());
  request.set_label(plan.label());
  request.set_max_violations(plan.max_violations());
  request.set_min_calibration_revision(plan.min_calibration_revision());
  v1::Cluster* cluster = request.mutable_job()->mutable_cluster();
  if (!flags.types.empty() && cluster->pools_size() == 0)
    RefuseCurve("--type adds to the first GPU type: give that with --gpu or in the job file");
  for (const std::string& type : flags.types) AddType(type, cluster);
  for (v1::GpuPool& pool : *cluster->mutable_pools()) {
    pool.clear_gpu_count();  // of a file that is also for `plan`: --nodes overrides it
    pool.clear_gpu_counts();
  }
  for (const std::string& nodes : flags.nodes) ParseNodes(nodes, request.add_nodes());
  if (flags.batch_nodes) {
    request.set_batch(v1::CURVE_BATCH_PER_NODE);
    request.set_batch_nodes(*flags.batch_nodes);
  }
  if (flags.short_search) request.set_search(v1::CURVE_SEARCH_SHORT);
  if (flags.resize_gbytes) request.set_checkpoint_bytes_per_second(*flags.resize_gbytes * 1e9);
  if (flags.resize_restart_seconds) request.set_restart_seconds(*flags.resize_restart_seconds);
  return request;
}

ExitCode RunCurve(const GlobalOptions& options, const CurveFlags& flags) {
  if (flags.csv && options.json()) RefuseCurve("give one of --csv and --output json");
  const v1::PlanCurveRequest request = CurveRequest(flags);
  const auto backend = BackendOf(options);
  const v1::PlanCurveResponse response = backend->PlanCurve(request);
  if (options.json()) {
    Print(ToJson(response));
  } else if (flags.csv) {
    Print(CurveCsv(response));
  } else {
    Print(RenderCurve(StyleOf(options), response,
                      "Computed by " + backend->name() + UnconfirmedText(response)));
  }
  bool any = false;
  for (const v1::Curve& curve : response.curves()) {
    any = any || std::any_of(curve.points().begin(), curve.points().end(), [](const auto& point) {
            return point.state() == v1::CURVE_POINT_STATE_FITS;
          });
  }
  return any ? ExitCode::kOk : ExitCode::kDoesNotFit;
}

}  // namespace

void AddCurveCommand(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code) {
  constexpr const char* kSizes = "Sizes";
  const auto flags = std::make_shared<CurveFlags>();
  flags->job.sizes_apart = true;
  CLI::App* curve = app->add_subcommand(
      "curve", "Plan a job for several numbers of nodes: speed, cost, what the next node is worth");
  curve->footer(
      "  evenkeelctl curve --local --model llama3-70b --gpu h100-sxm-80gb --nodes 4..64:4 "
      "--timeout 300\n"
      "Each size is planned as `plan` does, under the same id. A server keeps the plans, so after\n"
      "a timeout the same command continues where it stopped. Returns 1 if no size fits.\n"
      "`evenkeelctl --help` lists options that every command takes (--local, --server, --output, "
      "...).");
  curve
      ->add_option("--nodes", flags->nodes,
                   "Sizes: MIN..MAX, MIN..MAX:STEP or N,N,...; once, or once for each GPU type")
      ->type_name("NODES")
      ->required()
      ->group(kSizes)
      ->take_all();
  curve->add_option("--type", flags->types, "Another GPU type, with a curve of its own; repeatable")
      ->type_name("TYPE[@PRICE]")
      ->group(kSizes)
      ->take_all();
  Add(curve, "--batch-at", &flags->batch_nodes, "NODES",
      "Scale the global batch with the nodes; --global-batch is then the batch at NODES nodes "
      "[same batch for all sizes]",
      kSizes)
      ->check(Whole(1, 65536));
  curve
      ->add_flag("--short", flags->short_search,
                 "Use a short search to estimate sizes that the server has not planned yet")
      ->group(kSizes);
  Add(curve, "--resize-gbytes", &flags->resize_gbytes, "GB/S",
      "Rate at which a node writes and reads checkpoints when the size changes [1, assumed]",
      kSizes)
      ->check(Real(1e-3, 1e4));
  Add(curve, "--resize-restart-seconds", &flags->resize_restart_seconds, "S",
      "Time to stop and start all processes when the size changes [120, assumed]", kSizes)
      ->check(Real(0, 1e7));
  AddLaunchOption(curve, &flags->launch,
                  "Also make the settings of these trainers, which `launch --plan-id ID` prints");
  curve->add_flag("--csv", flags->csv, "Print comma-separated values")->group(kSizes);
  AddJobFlags(curve, &flags->job);
  curve->callback([=] { *exit_code = RunCurve(*options, *flags); });
}

}  // namespace evenkeel::cli
