// Changes messages field by field, so that fuzzers get past the parser.
#ifndef EVENKEEL_TESTS_FUZZ_MESSAGE_MUTATOR_H_
#define EVENKEEL_TESTS_FUZZ_MESSAGE_MUTATOR_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>

namespace evenkeel::fuzz {

class MessageMutator {
 public:
  using BytesMutator = std::function<std::string(const std::string&)>;

  // The change depends only on the seed and the message. `bytes` changes texts occasionally.
  MessageMutator(uint32_t seed, BytesMutator bytes) : random_(seed), bytes_(std::move(bytes)) {}

  // Makes one to four changes.
  void Mutate(google::protobuf::Message* message);

  // Replaces a part of `message` by a part of `donor` of the same type, if both have one.
  void Cross(const google::protobuf::Message& donor, google::protobuf::Message* message);

 private:
  using Field = google::protobuf::FieldDescriptor;

  void ChangeOne(google::protobuf::Message* message);
  void ChangeField(google::protobuf::Message* message, const Field* field);
  void ChangeList(google::protobuf::Message* message, const Field* field);
  void SetScalar(google::protobuf::Message* message, const Field* field, int index);
  int64_t Integer(int64_t old);
  double Real(double old);
  std::string Text(const std::string& old);
  size_t Below(size_t bound) { return random_() % bound; }

  std::minstd_rand random_;
  const BytesMutator bytes_;
};

}  // namespace evenkeel::fuzz

#endif  // EVENKEEL_TESTS_FUZZ_MESSAGE_MUTATOR_H_
