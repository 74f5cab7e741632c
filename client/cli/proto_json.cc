#include "client/cli/proto_json.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client/cli/exit_codes.h"
#include "server/base/visible_text.h"

namespace evenkeel::cli {

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
  const auto status = google::protobuf::util::JsonStringToMessage(text, message);
  if (status.ok()) return;
  const std::string fault(status.message().data(), status.message().size());
  throw CommandError(ExitCode::kBadInput,
                     fmt::format("{} is not a {} message in protobuf JSON: {}", name,
                                 message->GetDescriptor()->name(), fault));
}

void WriteFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool good = file != nullptr;
  if (good) {
    const std::string shown = server::Visible(text, "\n\t\r");
    good = std::fwrite(shown.data(), 1, shown.size(), file) == shown.size();
    good = std::fclose(file) == 0 && good;
  }
  if (!good) {
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
}

}  // namespace evenkeel::cli
