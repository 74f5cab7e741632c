// The folder of --output.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "client/cli/base/command_error.h"
#include "client/cli/base/output_file.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/pack/npy_writer.h"
#include "client/cli/pack/result_files.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kChunk = size_t{1} << 20;  // values between two checks of the progress

template <typename T>
void WriteArray(const OutputFolder& folder, const std::string& name, const std::vector<T>& values,
                const std::vector<int64_t>& shape, Progress* progress) {
  NpyWriter writer(folder.PathOf(name));
  for (size_t at = 0; at < values.size(); at += kChunk) {
    progress->Say("writing " + name, static_cast<double>(at) / static_cast<double>(values.size()));
    writer.Add(std::span<const T>(values).subspan(at, std::min(kChunk, values.size() - at)));
  }
  writer.Finish(shape);
}

// Turns integers into numbers. Protobuf JSON writes 64-bit integers as strings, but its readers
// accept numbers too.
void TurnIntegersIntoNumbers(const google::protobuf::Message& message, Json* json) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Descriptor* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const Field* field = descriptor->field(i);
    if (!json->contains(field->name())) continue;
    Json& value = (*json)[field->name()];
    const auto number = [](Json* text) {
      if (text->is_string()) *text = std::stoll(text->get<std::string>());
    };
    if (field->cpp_type() == Field::CPPTYPE_INT64) {
      number(&value);
      if (value.is_array()) std::for_each(value.begin(), value.end(), [&](Json& v) { number(&v); });
    } else if (field->cpp_type() == Field::CPPTYPE_MESSAGE && value.is_object()) {
      TurnIntegersIntoNumbers(message.GetReflection()->GetMessage(message, field), &value);
    } else if (field->cpp_type() == Field::CPPTYPE_MESSAGE && value.is_array()) {
      for (size_t k = 0; k < value.size(); ++k) {
        TurnIntegersIntoNumbers(
            message.GetReflection()->GetRepeatedMessage(message, field, static_cast<int>(k)),
            &value[k]);
      }
    }
  }
}

std::vector<int64_t> OrderShape(const PackedDataset& packed, const v1::PackDatasetStart& start) {
  if (!start.groups().empty()) return {static_cast<int64_t>(packed.order.size())};
  return {packed.summary.step_count(), start.data_parallel(), start.packs_per_rank()};
}

// Returns where each step begins in the order.
std::vector<int64_t> StepOffsets(const PackedDataset& packed, const v1::PackDatasetStart& start) {
  std::vector<int64_t> offsets = {0};
  for (const int32_t group : packed.step_group)
    offsets.push_back(offsets.back() + StepSlots(start.groups(group)));
  return offsets;
}

void WriteGroupFiles(const OutputFolder& folder, const PackedDataset& packed,
                     const v1::PackDatasetStart& start, Progress* progress) {
  const std::vector<int64_t> offsets = StepOffsets(packed, start);
  const int64_t steps = static_cast<int64_t>(packed.step_group.size());
  WriteArray(folder, "step_offsets.npy", offsets, {steps + 1}, progress);
  WriteArray(folder, "step_group.npy", packed.step_group, {steps}, progress);
  WriteArray(folder, "loss_normalizer.npy", packed.loss_normalizer, {steps}, progress);
}

}  // namespace

std::unique_ptr<OutputFolder> MakePackFolder(const std::string& folder, bool force) {
  return std::make_unique<OutputFolder>(
      folder,
      std::vector<std::string>{"pack_offsets.npy", "sample_index.npy", "step_order.npy",
                               "step_offsets.npy", "step_group.npy", "loss_normalizer.npy",
                               "oversize_index.npy", "summary.json"},
      force);
}

std::string SummaryJson(const PackedDataset& packed, const SampleLengths& samples,
                        const v1::PackDatasetStart& start) {
  Json json = Json::parse(ToJson(packed.summary));
  TurnIntegersIntoNumbers(packed.summary, &json);
  Json inputs = Json::array();
  for (const auto& part : samples.parts) {
    inputs.push_back({{"path", part.path}, {"sample_count", part.count}});
  }
  json["inputs"] = inputs;
  json["apart"] = start.apart_sample_count_size() > 0;
  json["epoch"] = start.epoch();
  json["sequence_parallel_group"] = start.sequence_parallel_group();
  json["step_order_shape"] = OrderShape(packed, start);
  if (!start.groups().empty()) json["curriculum_steps"] = start.curriculum_steps();
  // File names are bytes, but JSON is UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void WritePackFiles(const OutputFolder& folder, const PackedDataset& packed,
                    const SampleLengths& samples, const v1::PackDatasetStart& start,
                    Progress* progress) {
  const auto size = [](const auto& values) { return static_cast<int64_t>(values.size()); };
  WriteArray(folder, "pack_offsets.npy", packed.offsets, {size(packed.offsets)}, progress);
  WriteArray(folder, "sample_index.npy", packed.members, {size(packed.members)}, progress);
  WriteArray(folder, "step_order.npy", packed.order, OrderShape(packed, start), progress);
  if (!start.groups().empty()) WriteGroupFiles(folder, packed, start, progress);
  const std::vector<int64_t> oversize = OversizeSamples(samples, start);
  if (!oversize.empty()) {
    WriteArray(folder, "oversize_index.npy", oversize, {size(oversize)}, progress);
  }
  WriteVisibleText(folder.PathOf("summary.json"), SummaryJson(packed, samples, start));
}

}  // namespace evenkeel::cli
