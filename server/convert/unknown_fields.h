// Finds fields of a newer contract. If one were dropped silently, a constraint that the caller
// relies on could be lost.
#ifndef EVENKEEL_SERVER_CONVERT_UNKNOWN_FIELDS_H_
#define EVENKEEL_SERVER_CONVERT_UNKNOWN_FIELDS_H_

#include "server/convert/violations.h"

namespace google::protobuf {
class Message;
}

namespace evenkeel::server {

// Adds a violation for each field of `message`, at any depth, that this version does not know.
void CheckNoUnknownFields(const google::protobuf::Message& message, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_UNKNOWN_FIELDS_H_
