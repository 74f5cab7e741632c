// Reads NumPy's .npy strictly: format 1.0 to 3.0, little-endian int32 or int64, C order, shape (N,)
// or (N, 1 + encoders).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/base/parse_number.h"
#include "client/cli/dataset/length_files.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMaxHeaderBytes = 65536;

struct NpyHeader {
  size_t item_bytes = 0;
  std::vector<int64_t> shape;
};

[[noreturn]] void Fail(const ByteSource& source, const std::string& fault) {
  throw CommandError(ExitCode::kBadInput, fmt::format("{}: {}", source.name(), fault));
}

// Parses the Python dictionary literal of the header.
class HeaderParser {
 public:
  HeaderParser(const ByteSource* source, std::string_view text) : source_(*source), rest_(text) {}

  NpyHeader Parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    Expect('{');
    while (!Accept('}')) {
      const std::string key = String();
      Expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        header.item_bytes = ItemBytes();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        COrder();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = Shape();
      } else {
        Fail(source_, fmt::format("npy header: unexpected key '{}'", key));
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (!rest_.empty()) Fail(source_, "npy header: something follows the dictionary");
    if (!has_descr || !has_order || !has_shape) {
      Fail(source_, "npy header: 'descr', 'fortran_order' and 'shape' are needed");
    }
    return header;
  }

 private:
  void SkipSpace() {
    while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_[0]) != std::string_view::npos) {
      rest_.remove_prefix(1);
    }
  }

  bool Accept(char c) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) Fail(source_, fmt::format("npy header: '{}' is missing", c));
  }

  std::string String() {
    SkipSpace();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) {
      Fail(source_, "npy header: a string is missing");
    }
    const std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  size_t ItemBytes() {
    SkipSpace();
    if (!rest_.empty() && rest_[0] == '[')
      Fail(source_, "records are no lengths: use int32 or int64");
    const std::string type = String();
    if (type == "<i4") return 4;
    if (type == "<i8") return 8;
    Fail(source_, fmt::format("dtype '{}': only little-endian int32 ('<i4') and int64 ('<i8') are "
                              "read; convert with .astype('<i8')",
                              type));
  }

  void COrder() {
    SkipSpace();
    constexpr std::string_view kFalse = "False";
    if (rest_.substr(0, kFalse.size()) != kFalse) {
      Fail(source_, "fortran_order must be False: save numpy.ascontiguousarray(array)");
    }
    rest_.remove_prefix(kFalse.size());
  }

  std::vector<int64_t> Shape() {
    std::vector<int64_t> shape;
    Expect('(');
    while (!Accept(')')) {
      SkipSpace();
      const std::string_view digits = rest_.substr(0, rest_.find_first_not_of("0123456789"));
      const std::optional<int64_t> value = ParseNumber<int64_t>(digits);
      if (!value) Fail(source_, "npy header: bad shape");
      rest_.remove_prefix(digits.size());
      shape.push_back(*value);
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return shape;
  }

  const ByteSource& source_;
  std::string_view rest_;
};

NpyHeader ReadHeader(ByteSource* source) {
  std::array<unsigned char, 12> start{};
  const auto read = [&](size_t at, size_t size) {
    if (source->Read(reinterpret_cast<char*>(start.data()) + at, size) != size) {
      Fail(*source, "npy header is cut short");
    }
  };
  read(0, 8);
  const int major = start[6];
  if (major < 1 || major > 3) Fail(*source, fmt::format("npy format {} is not known", major));
  const size_t length_bytes = major == 1 ? 2 : 4;
  read(8, length_bytes);
  size_t size = 0;
  for (size_t i = length_bytes; i-- > 0;) size = size << 8 | start[8 + i];
  if (size > kMaxHeaderBytes)
    Fail(*source, fmt::format("npy header of {} bytes is too long", size));
  std::string text(size, '\0');
  if (source->Read(text.data(), size) != size) Fail(*source, "npy header is cut short");
  return HeaderParser(source, text).Parse();
}

int64_t LittleEndian(const char* bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return size == 4 ? static_cast<int32_t>(static_cast<uint32_t>(value))
                   : static_cast<int64_t>(value);
}

}  // namespace

void ReadNpy(ByteSource* source, LengthSink* sink) {
  const NpyHeader header = ReadHeader(source);
  const bool table = header.shape.size() == 2;
  const int64_t encoders = table ? header.shape[1] - 1 : 0;
  if (header.shape.empty() || header.shape.size() > 2 ||
      (table && (encoders < 1 || encoders > static_cast<int64_t>(planner::kEncodersAtMost)))) {
    Fail(*source, fmt::format("shape ({}): (N,) tokens, (N, 2) units and tokens, or with a column "
                              "of units for each of up to {} encoders are needed",
                              fmt::join(header.shape, ", "), planner::kEncodersAtMost));
  }
  const size_t row_bytes = header.item_bytes * static_cast<size_t>(encoders + 1);
  // The count follows from the file's size, because the header may claim any number.
  if (source->size() > 0) {
    sink->Expect(std::min(header.shape[0], source->size() / static_cast<int64_t>(row_bytes)));
  }
  std::vector<char> chunk(row_bytes * 8192);
  for (int64_t done = 0; done < header.shape[0];) {
    const size_t want = static_cast<size_t>(std::min<int64_t>(8192, header.shape[0] - done));
    const size_t bytes = source->Read(chunk.data(), want * row_bytes);
    for (size_t at = 0; at + row_bytes <= bytes; at += row_bytes, ++done) {
      const char* last = chunk.data() + at + row_bytes - header.item_bytes;
      LengthRecord record{.encoders = static_cast<size_t>(encoders),
                          .tokens = LittleEndian(last, header.item_bytes)};
      for (size_t e = 0; e < record.encoders; ++e)
        record.units[e] =
            LittleEndian(chunk.data() + at + e * header.item_bytes, header.item_bytes);
      sink->Add(record, /*line=*/0);
    }
    if (bytes != want * row_bytes) {
      Fail(*source, fmt::format("cut short: {} of {} samples are there", done, header.shape[0]));
    }
  }
  if (!source->AtEnd()) {
    Fail(*source, fmt::format("data follows the {} samples of the header", header.shape[0]));
  }
}

}  // namespace evenkeel::cli
