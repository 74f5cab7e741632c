// `pack`: turns length files into packs and their order.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command_line.h"
#include "client/cli/base/output_file.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/base/table.h"
#include "client/cli/commands/commands.h"
#include "client/cli/dataset/length_files.h"
#include "client/cli/media/media_processor.h"
#include "client/cli/pack/compare.h"
#include "client/cli/pack/pack_flags.h"
#include "client/cli/pack/pack_view.h"
#include "client/cli/pack/report_data.h"
#include "client/cli/pack/report_page.h"
#include "client/cli/pack/result_files.h"
#include "client/cli/render/pack.h"

namespace evenkeel::cli {
namespace {

// An upload of many samples takes longer than any plan.
constexpr double kPackTimeout = 3600;

constexpr const char* kPackFooter =
    "Length files are those of `stats`, except for histograms. Packs are made under both caps\n"
    "(from the data, if not given), and dealt to steps and ranks. No sample is dropped silently.\n"
    "--output writes, as int64 .npy:\n"
    "  pack_offsets  packs + 1: pack i is sample_index[pack_offsets[i] : pack_offsets[i + 1]]\n"
    "  sample_index  samples, counted from 0 over all files, in pack order\n"
    "  step_order    steps x ranks x packs per rank: packs, -1 for none\n"
    "  oversize_index  samples that exceed a cap, if there are any\n"
    "With packing groups, step_order has one dimension, and there are also\n"
    "  step_offsets  steps + 1: step i is step_order[step_offsets[i] : step_offsets[i + 1]]\n"
    "  step_group    the step's group, which has its own ranks and packs per rank\n"
    "  loss_normalizer  T_ave (float64): a rank's loss is the sum of its tokens' losses divided "
    "by\n"
    "                (packs per rank x T_ave), so that every token of the step weighs the same\n"
    "summary.json has caps, lower bound and all figures. Without files to write, only a summary\n"
    "is printed. --timeout is 3600 here, if not given. `evenkeelctl --help` lists options that\n"
    "every command takes (--local, --server, ...).\n"
    "\n"
    "  evenkeelctl pack lengths.json --unit-cap 13 --token-cap 4416 --dp 8 --output packs --local\n"
    "  evenkeelctl pack lengths.jsonl --groups 16384:1,131072:8 --dp 32 --output packs --local";

GlobalOptions Patient(const GlobalOptions& options) {
  GlobalOptions patient = options;
  if (!CommandLine(options.arguments).Has("--timeout")) patient.timeout_seconds = kPackTimeout;
  return patient;
}

PlannedPacking PlannedOf(const PackFlags& flags, Backend* backend) {
  if (!flags.rule_file.empty()) return ReadRuleFile(flags.rule_file);
  if (flags.plan_id.empty()) return {};
  v1::GetPlanRequest request;
  request.set_plan_id(flags.plan_id);
  return PackingOf(backend->GetPlan(request).plan());
}

int64_t PacksPerStep(const v1::PackDatasetStart& start) {
  return int64_t{start.data_parallel()} * start.packs_per_rank();
}

// Returns the settings that XTuner needs to read the preset.
std::string XtunerText(const PackFlags& flags, const v1::PackDatasetStart& start) {
  return fmt::format(
      "{}: packs and order for XTuner with global_batch_size {}, pack_max_length {}, "
      "short_pack_strategy \"padding\"{}",
      flags.xtuner, PacksPerStep(start), start.rule().token_cap(),
      flags.xtuner_paths.empty() ? "; paths.json names the length files, --xtuner-path others"
                                 : "");
}

std::vector<std::string> XtunerNotes(const v1::PackDatasetSummary& summary,
                                     const v1::PackDatasetStart& start) {
  std::vector<std::string> notes;
  const int64_t left = summary.rule().pack_count() % PacksPerStep(start);
  if (left > 0) {
    notes.push_back(
        fmt::format("XTuner leaves out what does not fill a global batch: {} pack{} of "
                    "the last step",
                    left, left == 1 ? "" : "s"));
  }
  if (summary.rule().oversize_sample_count() > summary.rejected_sample_count()) {
    notes.push_back(
        "XTuner refuses packs above its pack_max_length, such as those of oversize samples, or "
        "truncates them: see its long_pack_strategy");
  }
  return notes;
}

class PackCommand {
 public:
  PackCommand(const GlobalOptions& options, const PackFlags& flags)
      : options_(Patient(options)), flags_(flags) {}

  void Run() {
    CheckPackFlags(flags_);
    CheckMayWrite(flags_.report, flags_.force);
    if (!flags_.output.empty()) output_ = MakePackFolder(flags_.output, flags_.force);
    if (!flags_.xtuner.empty()) xtuner_ = MakeXtunerFolder(flags_.xtuner, flags_.force);
    const auto backend = BackendOf(options_);
    const PlannedPacking planned = PlannedOf(flags_, backend.get());
    const std::optional<MediaProcessor> media = ProcessorAt(flags_.processor);
    SampleLengths samples = ReadSampleLengths(flags_.files, media ? &*media : nullptr);
    v1::PackDatasetStart start = StartFromFlags(flags_, planned, samples);
    ScaleUnits(start.rule(), &samples);
    PackedDataset packed = backend->PackDataset(start, samples);
    v1::BatchRule* rule = packed.summary.mutable_rule();
    // The caps of a plan's rule may have been derived when it was planned.
    if (!rule->caps_derived()) {
      rule->set_caps_derived(start.rule().caps_derived());
      rule->set_caps_reason(start.rule().caps_reason());
    }
    start.mutable_rule()->set_unit_cap(rule->unit_cap());
    start.mutable_rule()->set_token_cap(rule->token_cap());
    if (start.result() == v1::PACK_DATASET_RESULT_FULL) {
      const std::vector<std::string> faults = FaultsOf(packed, samples, start);
      if (!faults.empty()) {
        throw CommandError(ExitCode::kError, "the packing is not what was asked for", faults);
      }
      WriteAll(packed, samples, start);
    }
    Show(packed, planned, samples, start, backend->name());
  }

 private:
  void WriteAll(const PackedDataset& packed, const SampleLengths& samples,
                const v1::PackDatasetStart& start) {
    Progress progress("writing");
    if (output_ != nullptr) WritePackFiles(*output_, packed, samples, start, &progress);
    if (xtuner_ != nullptr) {
      WriteXtunerPreset(*xtuner_, packed, samples, flags_.xtuner_paths, start, &progress);
    }
    if (!flags_.report.empty()) {
      const ReportData data = MakeReportData(packed, samples, start, &progress);
      WriteWholeFile(flags_.report, RenderReport(data, packed.summary, start, samples));
      written_.push_back(flags_.report + ": the report, to be opened in a browser");
    }
    if (xtuner_ != nullptr) {
      xtuner_->Commit();
      written_.insert(written_.begin(), XtunerText(flags_, start));
    }
    if (output_ != nullptr) {
      output_->Commit();
      written_.insert(
          written_.begin(),
          flags_.output + ": pack_offsets.npy, sample_index.npy, step_order.npy, " +
              (start.groups().empty() ? ""
                                      : "step_offsets.npy, step_group.npy, loss_normalizer.npy, ") +
              "summary.json");
    }
  }

  void Show(const PackedDataset& packed, const PlannedPacking& planned,
            const SampleLengths& samples, const v1::PackDatasetStart& start,
            const std::string& name) const {
    if (flags_.json || options_.json()) return Print(ToJson(packed.summary));
    PackView view = ViewOf(flags_, planned, samples, start, packed.summary);
    PackOrigin origin;
    origin.packed_by = name;
    origin.written = written_;
    origin.notes = std::move(view.notes);
    if (xtuner_ != nullptr) {
      for (std::string& note : XtunerNotes(packed.summary, start))
        origin.notes.push_back(std::move(note));
    }
    origin.oversize_listed = output_ != nullptr;
    const Style style = StyleOf(options_);
    std::string text = RenderPack(style, view.summary, start, origin);
    if (flags_.compare) {
      text += start.groups().empty() ? RenderComparison(style, packed.summary, samples, start)
                                     : RenderGroupComparison(style, packed.summary, samples, start);
    }
    if (written_.empty()) {
      text += "\n" + Paragraph(style,
                               "Nothing was written: --output DIR writes packs and order, "
                               "--report FILE a page to look at.",
                               0);
    }
    Print(text);
  }

  const GlobalOptions options_;
  const PackFlags& flags_;
  std::unique_ptr<OutputFolder> output_, xtuner_;
  std::vector<std::string> written_;
};

}  // namespace

void AddPackCommand(CLI::App* app, const GlobalOptions* options) {
  const auto flags = std::make_shared<PackFlags>();
  CLI::App* pack =
      app->add_subcommand("pack", "Pack samples, and deal the packs to steps and ranks");
  pack->footer(kPackFooter);
  AddPackFlags(pack, flags.get());
  pack->callback([=] { PackCommand(*options, *flags).Run(); });
}

}  // namespace evenkeel::cli
