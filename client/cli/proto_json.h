// Protobuf JSON with the habits that all commands share: field names as in the .proto files, zeros
// written out.
#ifndef EVENKEEL_CLIENT_CLI_PROTO_JSON_H_
#define EVENKEEL_CLIENT_CLI_PROTO_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace evenkeel::cli {

// Ends with a newline. `pretty`: one value a line, else everything on one.
std::string ToJson(const google::protobuf::Message& message, bool pretty = true);

// `name` is what the text is called in messages. Unknown fields are refused. Throws
// CommandError(kBadInput).
void FromJson(const std::string& text, const std::string& name, google::protobuf::Message* message);

// Throws CommandError(kBadInput) if the file cannot be written.
void WriteFile(const std::string& path, const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PROTO_JSON_H_
