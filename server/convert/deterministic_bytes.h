// Serialises messages so that equal messages give equal bytes, including maps.
#ifndef EVENKEEL_SERVER_CONVERT_DETERMINISTIC_BYTES_H_
#define EVENKEEL_SERVER_CONVERT_DETERMINISTIC_BYTES_H_

#include <string>

namespace google::protobuf {
class Message;
}

namespace evenkeel::server {

std::string DeterministicBytes(const google::protobuf::Message& message);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_DETERMINISTIC_BYTES_H_
