#include "client/cli/pack/npy_writer.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they are");

// Magic, version and length take 10 bytes. The text is padded with blanks to a multiple of 64.
constexpr size_t kHeaderBytes = 128;

std::string Header(const std::vector<int64_t>& shape, bool real) {
  std::string text = fmt::format("{{'descr': '<{}8', ", real ? 'f' : 'i');
  text += "'fortran_order': False, 'shape': (" + absl::StrJoin(shape, ", ");
  text += shape.size() == 1 ? ",), }" : "), }";
  text.resize(kHeaderBytes - 11, ' ');  // any four int64s leave room
  text += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace

NpyWriter::NpyWriter(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
  if (file_ == nullptr) Fail();
  const std::string header = Header({0}, false);
  Write(header.data(), header.size());
}

void NpyWriter::Add(std::span<const int64_t> values) {
  Write(values.data(), values.size_bytes());
  values_ += static_cast<int64_t>(values.size());
}

void NpyWriter::Add(std::span<const double> values) {
  Write(values.data(), values.size_bytes());
  values_ += static_cast<int64_t>(values.size());
  real_ = true;
}

void NpyWriter::Add(std::span<const uint32_t> values) { AddNarrow(values); }
void NpyWriter::Add(std::span<const int32_t> values) { AddNarrow(values); }

template <typename T>
void NpyWriter::AddNarrow(std::span<const T> values) {
  std::array<int64_t, 4096> chunk;
  while (!values.empty()) {
    const size_t count = std::min(values.size(), chunk.size());
    std::copy_n(values.begin(), count, chunk.begin());
    Add(std::span<const int64_t>(chunk.data(), count));
    values = values.subspan(count);
  }
}

void NpyWriter::Finish(const std::vector<int64_t>& shape) {
  int64_t values = 1;
  for (const int64_t size : shape) values *= size;
  if (values != values_) {
    throw CommandError(ExitCode::kError,
                       fmt::format("{}: {} values, but the shape has {}", path_, values_, values));
  }
  const std::string header = Header(shape, real_);
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0) Fail();
  Write(header.data(), header.size());
  // The file is on disk before it gets its name, so a file that exists is complete.
  if (std::fflush(file_.get()) != 0 || fsync(fileno(file_.get())) != 0) Fail();
  if (std::fclose(file_.release()) != 0) Fail();
}

void NpyWriter::Write(const void* bytes, size_t size) {
  if (size > 0 && std::fwrite(bytes, 1, size, file_.get()) != size) Fail();
}

void NpyWriter::Fail() const {
  throw CommandError(ExitCode::kBadInput,
                     fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

}  // namespace evenkeel::cli
