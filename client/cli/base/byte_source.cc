#include "client/cli/base/byte_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 18;

}  // namespace

void ByteSource::Close::operator()(std::FILE* file) const {
  if (file != stdin) std::fclose(file);
}

ByteSource::ByteSource(const std::string& path)
    : name_(path == "-" ? "standard input" : path),
      file_(path == "-" ? stdin : std::fopen(path.c_str(), "rb")),
      buffer_(kChunkBytes) {
  next_ = end_ = buffer_.data();
  struct stat status {};
  if (file_ == nullptr || fstat(fileno(file_.get()), &status) != 0) {
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("cannot open {}: {}", name_, std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    throw CommandError(ExitCode::kBadInput, fmt::format("{} is a directory", name_));
  }
  if (S_ISREG(status.st_mode)) size_ = status.st_size;
}

bool ByteSource::Refill() {
  chunk_offset_ += end_ - buffer_.data();
  const size_t count = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  if (count == 0 && std::ferror(file_.get()) != 0) {
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
  }
  next_ = buffer_.data();
  end_ = next_ + count;
  return count > 0;
}

std::string_view ByteSource::Peek(size_t size) {
  const size_t have = static_cast<size_t>(end_ - next_);
  if (have < size) {
    std::vector<char> grown(std::max(size, kChunkBytes));
    std::memcpy(grown.data(), next_, have);
    const size_t more = std::fread(grown.data() + have, 1, grown.size() - have, file_.get());
    chunk_offset_ = offset();
    buffer_ = std::move(grown);
    next_ = buffer_.data();
    end_ = next_ + have + more;
  }
  return {next_, std::min(size, static_cast<size_t>(end_ - next_))};
}

size_t ByteSource::Read(char* out, size_t size) {
  size_t done = 0;
  while (done < size && !AtEnd()) {
    const size_t part = std::min(size - done, static_cast<size_t>(end_ - next_));
    std::memcpy(out + done, next_, part);
    next_ += part;
    done += part;
  }
  return done;
}

bool ByteSource::ReadLine(std::string* line, size_t max_size) {
  line->clear();
  if (AtEnd()) return false;
  while (!AtEnd()) {
    const size_t have = static_cast<size_t>(end_ - next_);
    const void* found = std::memchr(next_, '\n', have);
    const size_t part =
        found == nullptr ? have : static_cast<size_t>(static_cast<const char*>(found) - next_);
    line->append(next_, part);
    if (line->size() > max_size) {
      throw CommandError(ExitCode::kBadInput, fmt::format("{}:{}: line is longer than {} bytes",
                                                          name_, line_, max_size));
    }
    next_ += part;
    if (found != nullptr) {
      Advance();
      break;
    }
  }
  return true;
}

std::string ReadWholeFile(const std::string& path, size_t max_size) {
  ByteSource source(path);
  const std::string_view all = source.Peek(max_size + 1);
  if (all.size() > max_size) {
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("{} is larger than {} bytes", source.name(), max_size));
  }
  return std::string(all);
}

}  // namespace evenkeel::cli
