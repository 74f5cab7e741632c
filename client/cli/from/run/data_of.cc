#include "client/cli/from/run/data_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/dataset/length_counts.h"
#include "client/cli/from/read/front_ends.h"
#include "planner/catalog/default_dataset.h"
#include "planner/workload/dataset.h"

namespace evenkeel::cli {
namespace {

constexpr int64_t kDefaultSamples = 1000000;
constexpr int32_t kMostEpochs = 10000;
// num_train_epochs of transformers/training_args.py.
constexpr int32_t kDefaultEpochs = 3;
// max_length of trl/trainer/sft_config.py (0.19 to 1.16).
constexpr int64_t kTrlLength = 1024;

// Returns ", TRL's default" if the configuration leaves max_length to TRL.
const char* DefaultText(const UserConfig& config) {
  const bool said = config.Has(Field::kMaxLength) || config.Has(Field::kModelMaxLength);
  return config.trl && !config.keeps_lengths && !said ? ", TRL's default" : "";
}

[[noreturn]] void FailTooMany() {
  throw CommandError(ExitCode::kBadInput, "the data have too many tokens to be counted");
}

// Returns total + count * each.
int64_t Added(int64_t total, int64_t count, int64_t each) {
  int64_t product = 0;
  if (__builtin_mul_overflow(count, each, &product) ||
      __builtin_add_overflow(total, product, &total))
    FailTooMany();
  return total;
}

// Cuts samples to `longest` tokens. Returns how many were longer.
int64_t CutSamples(int64_t longest, v1::Histogram* histogram) {
  const int units =
      histogram->llm_tokens_size() > 0 ? histogram->units_size() / histogram->llm_tokens_size() : 0;
  int64_t count = 0;
  for (int i = 0; i < histogram->llm_tokens_size(); ++i) {
    if (histogram->llm_tokens(i) <= longest) continue;
    for (int u = i * units; u < (i + 1) * units; ++u)
      if (histogram->units(u) > 0)
        throw CommandError(
            ExitCode::kBadInput,
            fmt::format("max_length {}: not yet: samples with images, sound or video "
                        "that it cuts, as one of {} tokens",
                        longest, histogram->llm_tokens(i)));
    histogram->set_llm_tokens(i, longest);
    count = Added(count, 1, histogram->sample_count(i));
  }
  return count;
}

// Leaves out samples above `longest` tokens. Returns how many.
int64_t DropSamples(int64_t longest, v1::Histogram* histogram) {
  v1::Histogram kept;
  kept.set_encoder_count(histogram->encoder_count());
  const int units =
      histogram->llm_tokens_size() > 0 ? histogram->units_size() / histogram->llm_tokens_size() : 0;
  int64_t dropped = 0;
  for (int i = 0; i < histogram->llm_tokens_size(); ++i) {
    if (histogram->llm_tokens(i) > longest) {
      dropped = Added(dropped, 1, histogram->sample_count(i));
      continue;
    }
    for (int u = i * units; u < (i + 1) * units; ++u) kept.add_units(histogram->units(u));
    kept.add_llm_tokens(histogram->llm_tokens(i));
    kept.add_sample_count(histogram->sample_count(i));
  }
  if (kept.llm_tokens_size() == 0 && dropped > 0)
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("data: no sample has at most {} tokens, and the trainer drops "
                                   "longer ones",
                                   longest));
  *histogram = std::move(kept);
  return dropped;
}

// Splits samples into some of `longest` tokens and a rest.
void SplitSamples(int64_t longest, v1::Histogram* histogram) {
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < histogram->llm_tokens_size(); ++i) {
    const int64_t tokens = histogram->llm_tokens(i), count = histogram->sample_count(i);
    counts[longest] = Added(counts[longest], tokens / longest, count);
    counts[tokens % longest] = Added(counts[tokens % longest], 1, count);
  }
  histogram->Clear();
  for (const auto& [tokens, count] : counts) {
    if (tokens == 0 || count == 0) continue;
    histogram->add_llm_tokens(tokens);
    histogram->add_sample_count(count);
  }
}

// Joins samples and cuts the text into some of `length` tokens.
void WrapSamples(int64_t length, v1::Histogram* histogram) {
  int64_t tokens = 0;
  for (int i = 0; i < histogram->llm_tokens_size(); ++i)
    tokens = Added(tokens, histogram->llm_tokens(i), histogram->sample_count(i));
  histogram->Clear();
  histogram->add_llm_tokens(length);
  histogram->add_sample_count(std::max<int64_t>(1, tokens / length));
}

// How packs of TRL are filled (pack_dataset() of trl/data_utils.py). Before 0.18, with
// max_seq_length, samples were always joined (ConstantLengthDataset).
enum class Packing { kNone, kWhole, kSplit, kJoined };
Packing PackingOf(const UserConfig& config) {
  if (config.format != ConfigFormat::kHuggingFace || !config.On(Field::kPacking))
    return Packing::kNone;
  const std::string strategy =
      config.Text(Field::kPackingStrategy, config.Has(Field::kMaxSeqLength) ? "wrapped" : "bfd");
  if (strategy == "bfd" || strategy == "ffd") return Packing::kWhole;
  if (strategy == "bfd_split" || strategy == "bfd-requeue") return Packing::kSplit;
  if (strategy != "wrapped")
    config.Refuse(Field::kPackingStrategy, "not yet: bfd, ffd, bfd_split or wrapped");
  return Packing::kJoined;
}

// Returns the histograms of the data, which are here unless a server keeps them.
std::vector<v1::Histogram*> Histograms(const char* why, v1::Dataset* data) {
  if (!data->dataset_ref().empty())
    throw CommandError(
        ExitCode::kBadInput,
        fmt::format("{}: not yet with a dataset_ref: give the lengths by --dataset", why));
  std::vector<v1::Histogram*> histograms;
  if (data->has_histogram()) histograms.push_back(data->mutable_histogram());
  for (v1::DatasetPart& part : *data->mutable_parts())
    histograms.push_back(part.mutable_histogram());
  for (const v1::Histogram* histogram : histograms) {
    if (histogram->sample_count_size() != histogram->llm_tokens_size())
      throw CommandError(
          ExitCode::kBadInput,
          fmt::format("{}: a histogram of the data has {} llm_tokens and {} "
                      "sample_count: both need one entry for each length",
                      why, histogram->llm_tokens_size(), histogram->sample_count_size()));
    const auto negative = [](int64_t value) { return value < 0; };
    if (std::any_of(histogram->llm_tokens().begin(), histogram->llm_tokens().end(), negative) ||
        std::any_of(histogram->sample_count().begin(), histogram->sample_count().end(), negative))
      throw CommandError(ExitCode::kBadInput,
                         fmt::format("{}: a histogram of the data has a number below 0", why));
  }
  return histograms;
}

// Splits or joins samples, which changes how many there are. Only text can be cut.
void RepackData(Packing packing, UserRun* run) {
  v1::Dataset* data = run->job.mutable_dataset();
  for (const v1::DatasetPart& part : data->parts())
    if (part.share() > 0)
      throw CommandError(ExitCode::kBadInput,
                         "packing: not yet: --dataset-shares of samples that are cut");
  for (v1::Histogram* histogram : Histograms("packing", data)) {
    if (histogram->units_size() > 0)
      throw CommandError(ExitCode::kBadInput,
                         "packing: not yet: samples with images, sound or video that are cut");
    if (packing == Packing::kSplit) {
      SplitSamples(run->seq_length, histogram);
    } else {
      WrapSamples(run->seq_length, histogram);
    }
  }
  run->fixed_lengths = packing == Packing::kJoined;
}

// Loaders of pretraining join texts and cut them at the sequence's length, so no sample is longer.
void SplitLongSamples(UserRun* run) {
  v1::Dataset* data = run->job.mutable_dataset();
  const bool shares = std::any_of(data->parts().begin(), data->parts().end(),
                                  [](const v1::DatasetPart& part) { return part.share() > 0; });
  if (run->seq_length == 0 || shares || !data->dataset_ref().empty()) return;
  int64_t longer = 0;
  for (v1::Histogram* histogram : Histograms("data", data)) {
    if (histogram->units_size() > 0) continue;  // only text can be cut
    const int64_t before = longer;
    for (int i = 0; i < histogram->llm_tokens_size(); ++i)
      if (histogram->llm_tokens(i) > run->seq_length)
        longer = Added(longer, 1, histogram->sample_count(i));
    if (longer > before) SplitSamples(run->seq_length, histogram);
  }
  if (longer > 0)
    run->assumed.push_back(fmt::format("data: {} longer sample{} split into some of {} tokens",
                                       longer, longer == 1 ? " is" : "s are", run->seq_length));
}

// The Trainer of TRL cuts tokens off; other programs cut at the tokenizer's model_max_length.
void CutData(const UserConfig& config, UserRun* run) {
  if (config.Has(Field::kBlockSize))
    config.Refuse(Field::kBlockSize,
                  "not yet with data: every sample is a block, so leave out --dataset");
  const int64_t longest = LongestSample(config);
  if (longest == 0) return;
  int64_t cut = 0;
  for (v1::Histogram* histogram : Histograms("max_length", run->job.mutable_dataset()))
    cut += config.drops_samples ? DropSamples(longest, histogram) : CutSamples(longest, histogram);
  if (cut > 0)
    run->assumed.push_back(fmt::format("data: {} longer samples are {} {} tokens{}", cut,
                                       config.drops_samples ? "dropped, as they exceed" : "cut to",
                                       longest, DefaultText(config)));
}

// Training runs whole epochs.
void SetEpochs(const UserConfig& config, const JobFlags& flags, v1::Training* training,
               std::vector<std::string>* assumed) {
  if (flags.epochs) return;
  if (config.Int(Field::kTrainSteps, -1, -1, 1000000000) > 0) {
    training->set_epochs(1);
    return;
  }
  if (!config.Has(Field::kEpochs)) {
    if (training->epochs() > 0) return;  // the job file's
    training->set_epochs(kDefaultEpochs);
    assumed->push_back(fmt::format("epochs: {}, the default of num_train_epochs", kDefaultEpochs));
    return;
  }
  const double epochs = config.Real(Field::kEpochs, 0);
  if (!(epochs > 0 && epochs <= kMostEpochs))
    config.Refuse(Field::kEpochs, fmt::format("must be above 0, to {}", kMostEpochs));
  training->set_epochs(static_cast<int32_t>(std::ceil(epochs)));
  if (epochs != std::ceil(epochs))
    assumed->push_back(fmt::format("epochs: rounded up to {}", training->epochs()));
}

// Returns the setting that limits the length of samples as it is written, or "".
std::string LengthLimit(const UserConfig& config) {
  for (const Field field : {Field::kMaxSeqLength, Field::kMaxLength, Field::kModelMaxLength})
    for (const Setting& setting : config.used)
      if (config.Has(field) && setting.key == config.fields.at(field).AsWritten().key)
        return setting.key + " " + config.Text(field);
  return "";
}

bool HasData(const v1::Dataset& dataset) {
  return dataset.has_histogram() || dataset.parts_size() > 0 || !dataset.dataset_ref().empty();
}

}  // namespace

int64_t LongestSample(const UserConfig& config) {
  if (config.Has(Field::kBlockSize)) return config.Int(Field::kBlockSize, 0, 1, kMaxTokens);
  // TRL's max_seq_length, while there was one, came before max_length.
  const Field own = config.Has(Field::kMaxSeqLength) ? Field::kMaxSeqLength : Field::kMaxLength;
  const int64_t fallback = config.trl && !config.keeps_lengths ? kTrlLength : 0;
  const int64_t longest = config.Int(own, fallback, 1, kMaxTokens);
  const int64_t of_tokenizer = config.Int(Field::kModelMaxLength, 0, 1, kMaxTokens);
  if (longest == 0 || of_tokenizer == 0) return std::max(longest, of_tokenizer);
  return std::min(longest, of_tokenizer);
}

void SetPadding(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  v1::Training* training = run->job.mutable_training();
  if (config.format == ConfigFormat::kDeepSpeed && HasData(run->job.dataset()) &&
      !flags.token_cap) {
    run->padded = true;
    training->set_micro_batch_samples(run->micro_batch);
    run->assumed.push_back(
        fmt::format("micro-batches: of {} sample{}, padded; --token-cap N says that the program "
                    "packs samples",
                    run->micro_batch, run->micro_batch == 1 ? "" : "s"));
  }
  if (config.format != ConfigFormat::kHuggingFace) return;
  SetEpochs(config, flags, training, &run->assumed);
  if (const Packing packing = PackingOf(config); packing != Packing::kNone) {
    if (run->seq_length == 0)
      config.Refuse(Field::kPacking, "needs max_length, which is the length of a pack");
    training->clear_micro_batch_samples();
    training->clear_group_by_length();
    run->assumed.push_back(fmt::format(
        "packs: of {} tokens each, {}", run->seq_length,
        packing == Packing::kJoined ? "which attention does not keep apart"
                                    : "with attention within each sample (flash attention)"));
    return;
  }
  // With packs that keep samples whole, TRL sets it itself.
  if (config.On(Field::kPaddingFree))
    config.Refuse(Field::kPaddingFree, "not yet: samples that are laid end to end, but not packed");
  run->padded = true;
  training->clear_token_cap();
  training->set_micro_batch_samples(run->micro_batch);
  if (config.Has(Field::kPadMultiple) && config.Text(Field::kPadMultiple) != "auto" &&
      !flags.pad_multiple)
    training->mutable_padding()->set_multiple(config.Int(Field::kPadMultiple, 1, 1, 65536));
  const std::string order = config.Text(Field::kSampling, "random");
  if (order != "random" && order != "sequential" && order != "group_by_length")
    config.Refuse(Field::kSampling, "not yet: random, sequential or group_by_length");
  if (config.On(Field::kGroupByLength) || order == "group_by_length")
    training->set_group_by_length(true);
}

void SetRunData(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  const v1::Dataset& there = run->job.dataset();
  const bool hugging_face = config.format == ConfigFormat::kHuggingFace;
  const int64_t steps = std::max<int64_t>(0, config.Int(Field::kTrainSteps, 0, -1, 1000000000));
  run->steps = steps;
  run->text_only = config.text_only;
  if (hugging_face) run->length_limit = LengthLimit(config);
  run->knows_samples = HasData(there);
  if (HasData(there)) {
    if (!hugging_face) return SplitLongSamples(run);
    const Packing packing = PackingOf(config);
    if (packing == Packing::kNone || packing == Packing::kWhole) return CutData(config, run);
    return RepackData(packing, run);
  }
  if (run->job.model().encoders_size() > 0) return;
  if (run->seq_length == 0) {
    if (!flags.job_file.empty()) return;  // the planner's own data, as for the job
    throw CommandError(
        ExitCode::kBadInput,
        fmt::format("{}'s configuration does not say how long a sequence is: give --token-cap "
                    "N, the tokens of a micro-batch{}, or data by --dataset",
                    TrainerName(config),
                    run->micro_batch > 1 ? fmt::format(" of {} sequences", run->micro_batch) : ""));
  }
  int64_t samples = config.Int(Field::kTrainSamples, 0, 0, planner::kMaxSamples);
  if (samples == 0 && steps > 0 && run->sequences > 0)
    samples = std::min<int64_t>(steps * run->sequences, planner::kMaxSamples);
  const bool known = samples > 0;
  run->knows_samples = known;
  if (!known) samples = kDefaultSamples;
  // A job without data is planned with the planner's own samples, of which packs may hold several.
  if (!flags.job_file.empty() && !hugging_face && !known &&
      run->seq_length > planner::kDefaultTextTokens) {
    run->assumed.push_back(fmt::format(
        "data: the planner's own samples, because --job has none, in packs of at most {} "
        "tokens",
        run->seq_length));
    return;
  }
  v1::Histogram* histogram = run->job.mutable_dataset()->mutable_histogram();
  histogram->add_llm_tokens(run->seq_length);
  histogram->add_sample_count(samples);
  run->fixed_lengths = true;
  run->invented_data = run->assumed.size();
  const bool cut = hugging_face && !flags.token_cap;
  run->assumed.push_back(fmt::format("data: {} samples{}, each of exactly {} tokens{}{}", samples,
                                     known ? "" : " (not in the configuration)", run->seq_length,
                                     cut ? DefaultText(config) : "",
                                     cut ? ", which no sample exceeds" : ""));
}

}  // namespace evenkeel::cli
