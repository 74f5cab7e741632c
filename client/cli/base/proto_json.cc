#include "client/cli/base/proto_json.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command_error.h"
#include "planner/base/name_search.h"
#include "server/base/visible_text.h"

namespace evenkeel::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Returns the message at the end of a path such as "job.cluster.pools[0]", or nullptr.
const Descriptor* MessageAt(const Descriptor* message, const std::string& path) {
  if (path.empty()) return message;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    const FieldDescriptor* field =
        message->FindFieldByName(std::string(name.substr(0, name.find('['))));
    if (field == nullptr || field->message_type() == nullptr) return nullptr;
    message = field->message_type();
  }
  return message;
}

// Returns the form that protobuf's parser would have accepted at the place that its message names,
// or "".
std::string Accepted(const std::string& fault, const Descriptor* message) {
  static const std::regex kValue("for type type\\.googleapis\\.com/([A-Za-z0-9_.]+)");
  static const std::regex kField("^\\(([^)]*)\\) ([^:]+): Cannot find field");
  static const std::regex kFirstField("^([^:() ]+): Cannot find field");
  std::smatch match;
  if (std::regex_search(fault, match, kValue)) {
    const auto* type = message->file()->pool()->FindEnumTypeByName(match[1].str());
    std::vector<std::string> names;
    for (int i = 1; type != nullptr && i < type->value_count(); ++i)
      names.push_back(type->value(i)->name());
    return names.empty() ? "" : fmt::format("; accepted: {}", fmt::join(names, ", "));
  }
  std::string path, name;
  if (std::regex_search(fault, match, kField)) {
    path = match[1].str(), name = match[2].str();
  } else if (std::regex_search(fault, match, kFirstField)) {
    name = match[1].str();
  }
  const Descriptor* holder = name.empty() ? nullptr : MessageAt(message, path);
  if (holder == nullptr) return "";
  planner::NameSearch search(name);
  for (int i = 0; i < holder->field_count(); ++i) search.Add(holder->field(i)->name(), {});
  const std::vector<std::string> nearest = std::move(search).Nearest(3);
  return nearest.empty()
             ? ""
             : fmt::format(" Nearest in {}: {}", holder->name(), fmt::join(nearest, ", "));
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) throw CommandError(ExitCode::kError, "cannot write the answer as JSON");
  if (text.empty() || text.back() != '\n') text += '\n';
  return server::Visible(text, "\n");
}

void FromJson(const std::string& text, const std::string& name,
              google::protobuf::Message* message) {
  if (absl::StripAsciiWhitespace(text).empty())
    throw CommandError(ExitCode::kBadInput, name + " is empty");
  const auto status = google::protobuf::util::JsonStringToMessage(text, message);
  if (status.ok()) return;
  const std::string fault(status.message().data(), status.message().size());
  throw CommandError(ExitCode::kBadInput,
                     fmt::format("{} is not a {} message in protobuf JSON: {}{}", name,
                                 message->GetDescriptor()->name(), fault,
                                 Accepted(fault, message->GetDescriptor())));
}

}  // namespace evenkeel::cli
