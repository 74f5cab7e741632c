// Protobuf JSON with the conventions that all commands share: field names as in the .proto files,
// and zeros written out.
#ifndef EVENKEEL_CLIENT_CLI_BASE_PROTO_JSON_H_
#define EVENKEEL_CLIENT_CLI_BASE_PROTO_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace evenkeel::cli {

// Returns JSON that ends with a newline. With `pretty`, each value is on its own line; otherwise
// all are on one line.
std::string ToJson(const google::protobuf::Message& message, bool pretty = true);

// Parses `text`, which error messages call `name`. Refuses unknown fields. Throws
// CommandError(kBadInput).
void FromJson(const std::string& text, const std::string& name, google::protobuf::Message* message);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_PROTO_JSON_H_
