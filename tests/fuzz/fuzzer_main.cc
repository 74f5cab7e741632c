// libFuzzer's side of one target, EVENKEEL_FUZZ_TARGET.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/targets.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace evenkeel::fuzz {
namespace {

const Target& ThisTarget() {
  static const Target& target = *FindTarget(EVENKEEL_FUZZ_TARGET);
  return target;
}

std::string MutatedBytes(const std::string& old) {
  std::string bytes = old;
  bytes.resize(old.size() + 16);
  bytes.resize(
      LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), old.size(), bytes.size()));
  return bytes;
}

// Returns nullptr if the target takes bytes, or if the bytes are not a message.
std::unique_ptr<google::protobuf::Message> Parsed(const uint8_t* data, size_t size) {
  if (ThisTarget().prototype == nullptr) return nullptr;
  std::unique_ptr<google::protobuf::Message> message(ThisTarget().prototype()->New());
  return message->ParseFromArray(data, static_cast<int>(size)) ? std::move(message) : nullptr;
}

// Returns 0 if the message is too large.
size_t Write(const google::protobuf::Message& message, uint8_t* data, size_t max_size) {
  const std::string bytes = message.SerializeAsString();
  if (bytes.size() > max_size) return 0;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

// Joins the beginning of one input and the end of the other.
size_t Splice(std::span<const uint8_t> one, std::span<const uint8_t> other, unsigned int seed,
              std::span<uint8_t> out) {
  const auto begin = one.first(std::min(seed % (one.size() + 1), out.size()));
  const auto rest = other.subspan(seed / 7 % (other.size() + 1));
  const auto end = rest.first(std::min(rest.size(), out.size() - begin.size()));
  std::copy(begin.begin(), begin.end(), out.begin());
  std::copy(end.begin(), end.end(), out.begin() + static_cast<std::ptrdiff_t>(begin.size()));
  return begin.size() + end.size();
}

}  // namespace
}  // namespace evenkeel::fuzz

using evenkeel::fuzz::MessageMutator;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it would report texts that are not UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  evenkeel::fuzz::ThisTarget().run({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const auto message = evenkeel::fuzz::Parsed(data, size);
  if (message == nullptr || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  MessageMutator(seed, &evenkeel::fuzz::MutatedBytes).Mutate(message.get());
  const size_t written = evenkeel::fuzz::Write(*message, data, max_size);
  return written != 0 ? written : size;
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t max_out, unsigned int seed) {
  const auto message = evenkeel::fuzz::Parsed(data1, size1);
  const auto donor = evenkeel::fuzz::Parsed(data2, size2);
  if (message == nullptr || donor == nullptr) {
    return evenkeel::fuzz::Splice({data1, size1}, {data2, size2}, seed, {out, max_out});
  }
  MessageMutator(seed, &evenkeel::fuzz::MutatedBytes).Cross(*donor, message.get());
  return evenkeel::fuzz::Write(*message, out, max_out);
}
