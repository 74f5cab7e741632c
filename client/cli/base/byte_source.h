// A file (or standard input, "-") as a stream of bytes that knows its offset and line. It reads in
// chunks, so a file of any size takes constant memory.
#ifndef EVENKEEL_CLIENT_CLI_BASE_BYTE_SOURCE_H_
#define EVENKEEL_CLIENT_CLI_BASE_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::cli {

class ByteSource {
 public:
  // Opens the file. Throws CommandError(kBadInput) if `path` cannot be opened. Reading throws the
  // same on an I/O error.
  explicit ByteSource(const std::string& path);
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  bool AtEnd() { return next_ == end_ && !Refill(); }
  char Current() const { return *next_; }  // only if !AtEnd()
  void Advance() {
    if (*next_++ == '\n') ++line_;
  }

  // Returns the next `size` bytes without consuming them, or fewer only at the end of the file.
  std::string_view Peek(size_t size);

  // Consumes up to `size` bytes into `out`. Returns how many. Does not count lines.
  size_t Read(char* out, size_t size);

  // Consumes the next line and stores it without its end. Returns false at the end of the file.
  // Throws if a line has more than `max_size` bytes.
  bool ReadLine(std::string* line, size_t max_size);

  const std::string& name() const { return name_; }  // for messages
  int64_t line() const { return line_; }             // line of the next byte, from 1
  int64_t offset() const { return chunk_offset_ + (next_ - buffer_.data()); }
  int64_t size() const { return size_; }  // 0 if unknown (a pipe)

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };

  bool Refill();

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<char> buffer_;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  int64_t chunk_offset_ = 0;
  int64_t line_ = 1;
  int64_t size_ = 0;
};

// Input iterator over the rest of a source, for parsers that take iterators.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  ByteIterator() = default;  // the end
  explicit ByteIterator(ByteSource* source) : source_(source) {}

  char operator*() const { return source_->Current(); }
  ByteIterator& operator++() {
    source_->Advance();
    return *this;
  }
  ByteIterator operator++(int) {
    ByteIterator before = *this;
    source_->Advance();
    return before;
  }
  // Only comparisons with the end are meaningful, as for every input iterator.
  bool operator==(const ByteIterator& other) const { return Ended() == other.Ended(); }
  bool operator!=(const ByteIterator& other) const { return !(*this == other); }

 private:
  bool Ended() const { return source_ == nullptr || source_->AtEnd(); }

  ByteSource* source_ = nullptr;
};

// Returns the whole file, of at most `max_size` bytes. Throws CommandError(kBadInput).
std::string ReadWholeFile(const std::string& path, size_t max_size);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_BYTE_SOURCE_H_
