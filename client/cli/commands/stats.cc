// `stats`: turns length files into a histogram.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/base/output_file.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/base/table.h"
#include "client/cli/commands/commands.h"
#include "client/cli/dataset/histogram.h"
#include "client/cli/dataset/length_files.h"
#include "client/cli/media/media_processor.h"
#include "client/cli/render/stats.h"

namespace evenkeel::cli {
namespace {

void RunStats(const GlobalOptions& options, const std::vector<std::string>& files,
              const std::string& processor, const std::string& histogram_out) {
  const std::optional<MediaProcessor> media = ProcessorAt(processor);
  const LengthCounts counts = ReadLengthFiles(files, media ? &*media : nullptr);
  const std::vector<LengthCount> sorted = counts.Sorted();
  const BinnedHistogram binned = BinLengths(sorted, kMaxHistogramBytes, counts.encoders());
  const std::string json = ToJson(binned.histogram, /*pretty=*/false);
  if (!histogram_out.empty()) WriteVisibleText(histogram_out, json);
  if (options.json()) {
    Print(json);
    return;
  }
  const Style style = StyleOf(options);
  std::string text =
      RenderStats(style, sorted, std::max<size_t>(1, counts.encoders()), binned, files.size());
  text += histogram_out.empty()
              ? Paragraph(style,
                          "--histogram-out FILE writes it; `plan --dataset` takes it as well as "
                          "these files.")
              : Paragraph(style, fmt::format("Written to {0}: plan with --dataset {0}, or as the "
                                             "\"histogram\" of a job's \"dataset\".",
                                             histogram_out));
  Print(text);
}

}  // namespace

void AddStatsCommand(CLI::App* app, const GlobalOptions* options) {
  struct Arguments {
    std::vector<std::string> files;
    std::string histogram_out, processor;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* stats = app->add_subcommand("stats", "Turn sample lengths into a histogram");
  stats->footer(
      "Formats, told apart by content:\n"
      "  JSON array   [{\"vit_num\": 5, \"token_num\": 1341}, ...] as OmniBal ships them\n"
      "  JSON Lines   {\"units\": 5, \"llm_tokens\": 1341} or {\"length\": 512}, one a line\n"
      "               or {\"units\": [256, 50], ...} of a model with several encoders, in its "
      "order\n"
      "               with --processor {\"text_tokens\": 80, \"images\": [[1280, 720]]}, width "
      "and\n"
      "               height in pixels, and \"videos\": [{\"width\": 1280, \"height\": 720,\n"
      "               \"frames\": 240, \"fps\": 24}] (or \"seconds\" for either of the last two),\n"
      "               \"audios\": [12.5], in seconds, or [{\"samples\": 200000, \"rate\": 16000}]\n"
      "  .npy         int32 or int64; (N,) tokens, or (N, 2) units and tokens; with more columns,\n"
      "               the units of each encoder and tokens\n"
      "  histogram    as --histogram-out writes it\n"
      "Tokens are those of the language model, visual ones included. A negative length, LLaVA's "
      "mark\n"
      "of a sample without image, counts with its absolute value. --output json prints the\n"
      "histogram instead of the summary. It stays below 64 KiB: exact if possible, else in bins\n"
      "of tokens, each standing for its mean; the summary says which.");
  stats->add_option("FILE", arguments->files, "Length files, joined ('-': standard input)")
      ->required();
  stats->add_option("--processor", arguments->processor, kProcessorHelp)->type_name("PATH");
  stats
      ->add_option("--histogram-out", arguments->histogram_out,
                   "Write the histogram as protobuf JSON")
      ->type_name("FILE");
  stats->callback([=] {
    RunStats(*options, arguments->files, arguments->processor, arguments->histogram_out);
  });
}

}  // namespace evenkeel::cli
