#include "server/rpc/parse_request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>

#include "server/rpc/errors.h"

namespace evenkeel::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// Counts parts without keeping anything. Leaves bytes that are not a message for the parser to
// refuse.
class PartCounter {
 public:
  explicit PartCounter(std::string_view bytes)
      : input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  // Returns the path of the field that exceeds the limit, or "" if none does.
  std::string Overfull(const Descriptor& message) {
    Count(message);
    return path_;
  }

 private:
  // Returns false if the limit is exceeded, or if the bytes are not such a message.
  bool Count(const Descriptor& message) {
    while (const uint32_t tag = input_.ReadTag()) {
      const FieldDescriptor* field =
          message.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (!Take(tag, field)) {
        if (full_) path_ = NameOf(field, tag) + (path_.empty() ? "" : "." + path_);
        return false;
      }
    }
    return input_.ConsumedEntireMessage() || input_.BytesUntilLimit() == 0;
  }

  bool Take(uint32_t tag, const FieldDescriptor* field) {
    const bool delimited =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const bool numbers = field != nullptr && field->is_packable();
    if (!numbers && (delimited || field == nullptr)) full_ = ++parts_ > kMaxRequestParts;
    if (full_) return false;
    if (!delimited || field == nullptr || field->message_type() == nullptr)
      return WireFormatLite::SkipField(&input_, tag);
    uint32_t length = 0;
    if (!input_.ReadVarint32(&length)) return false;
    const auto limit = input_.PushLimit(static_cast<int>(length));
    const bool fine = Count(*field->message_type());
    input_.PopLimit(limit);
    return fine;
  }

  static std::string NameOf(const FieldDescriptor* field, uint32_t tag) {
    return field != nullptr ? field->name()
                            : std::to_string(WireFormatLite::GetTagFieldNumber(tag));
  }

  google::protobuf::io::CodedInputStream input_;
  int64_t parts_ = 0;
  bool full_ = false;
  std::string path_;
};

}  // namespace

grpc::Status ParseRequest(std::string_view bytes, google::protobuf::Message* message) {
  if (bytes.size() > kSmallRequestBytes) {
    const std::string field = PartCounter(bytes).Overfull(*message->GetDescriptor());
    if (!field.empty()) {
      return InvalidRequest(
          {{field, "is where the request exceeds " + std::to_string(kMaxRequestParts) +
                       " messages and texts in all; accepted: at most that many"}});
    }
  }
  if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return grpc::Status::OK;
  return MalformedRequest(message->GetDescriptor()->full_name());
}

}  // namespace evenkeel::server
