// Protobuf JSON with the habits that all commands share: field names as in the .proto files, zeros
// written out.
#ifndef EVENKEEL_CLIENT_CLI_PROTO_JSON_H_
#define EVENKEEL_CLIENT_CLI_PROTO_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace evenkeel::cli {

// Returns JSON that ends with a newline. `pretty` writes one value a line, else all stand on one.
std::string ToJson(const google::protobuf::Message& message, bool pretty = true);

// Parses `text`, which messages call `name`. Unknown fields are refused. Throws
// CommandError(kBadInput).
void FromJson(const std::string& text, const std::string& name, google::protobuf::Message* message);

// Writes a file. Throws CommandError(kBadInput) if that fails.
void WriteFile(const std::string& path, const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PROTO_JSON_H_
