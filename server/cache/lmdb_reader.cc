#include "server/cache/lmdb_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "server/cache/file_bytes.h"

namespace evenkeel::server {
namespace {

// Layout of LMDB 0.9 on a 64-bit little-endian machine.
constexpr size_t kHeader = 16;  // of a page
constexpr size_t kNode = 8;     // size of the part before a node's key
constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint32_t kVersion = 1;
constexpr uint16_t kBranch = 1, kLeaf = 2, kLarge = 4, kMeta = 8;  // flags of pages
constexpr uint16_t kElsewhere = 1, kTable = 2;                     // flags of nodes
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr int kDeepest = 32;
constexpr size_t kMetaBytes = 136;
constexpr size_t kTableBytes = 48;

uint64_t Number(std::string_view bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

uint16_t FlagsOf(std::string_view page) { return static_cast<uint16_t>(Number(page, 10, 2)); }

std::string Spoiled(uint64_t page) { return "is damaged in page " + std::to_string(page); }

}  // namespace

int64_t ReadLmdbNumber(std::string_view bytes) {
  if (bytes.size() < 8) return -1;
  uint64_t number = 0;
  for (const char c : bytes.substr(0, 8)) number = number << 8 | static_cast<unsigned char>(c);
  return static_cast<int64_t>(number);
}

std::string LmdbNumber(int64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<uint64_t>(number) >> shift & 0xff);
  }
  return bytes;
}

// The state of a walk over one table.
struct LmdbReader::Walk {
  const Visit& visit;
  bool of_tables;
  int64_t entries = 0;
  uint64_t pages = 0;
  std::string last_key;
};

LmdbReader::~LmdbReader() { close(descriptor_); }

std::unique_ptr<LmdbReader> LmdbReader::Open(const std::string& path, std::string* error) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    *error = std::strerror(errno);
    return nullptr;
  }
  std::unique_ptr<LmdbReader> reader(new LmdbReader(descriptor));
  *error = reader->ReadMetas(path);
  return error->empty() ? std::move(reader) : nullptr;
}

// LMDB uses whichever of its two meta pages has the higher transaction number, and neither has a
// checksum. They must therefore be consistent with each other. Otherwise damage to the newer one
// would silently bring back the state before the last transaction.
std::string LmdbReader::ReadMetas(const std::string& path) {
  std::array<uint64_t, 2> turns{};
  for (size_t i = 0; i < 2; ++i) {
    const std::string name = "is damaged in its meta page " + std::to_string(i);
    std::string page;
    const int64_t at = i == 0 ? 0 : static_cast<int64_t>(page_bytes_);
    if (!ReadAt(descriptor_, at, kHeader + kMetaBytes, &page)) return std::strerror(errno);
    if (page.size() < kHeader + kMetaBytes) return "is cut short in " + path;
    if (Number(page, 0, 8) != i || FlagsOf(page) != kMeta) return name;
    const std::string_view meta = std::string_view(page).substr(kHeader);
    if (Number(meta, 0, 4) != kMagic || Number(meta, 4, 4) != kVersion) return name;
    const uint64_t page_bytes = Number(meta, 24, 4);
    const std::string_view main = meta.substr(24 + kTableBytes, kTableBytes);
    if (page_bytes < 512 || page_bytes > 65536 || (page_bytes & (page_bytes - 1)) != 0) return name;
    if (i == 1 && page_bytes != page_bytes_) return name;
    page_bytes_ = page_bytes;
    turns[i] = Number(meta, 24 + 2 * kTableBytes + 8, 8);
    if (i == 1 && turns[1] < turns[0]) break;
    last_page_ = Number(meta, 24 + 2 * kTableBytes, 8);
    main_ = {static_cast<int64_t>(Number(main, 32, 8)), Number(main, 40, 8)};
  }
  const uint64_t newer = turns[1] > turns[0] ? 1 : 0;
  const bool is_new = turns[0] == 0 && turns[1] == 0;
  if (!is_new && (turns[newer] != turns[1 - newer] + 1 || turns[newer] % 2 != newer)) {
    return "is damaged: its meta pages contradict each other";
  }
  return "";
}

std::string LmdbReader::ReadPage(uint64_t number, std::string* page) const {
  if (number < 2 || number > last_page_) return Spoiled(number);
  const auto at = static_cast<int64_t>(number * page_bytes_);
  if (!ReadAt(descriptor_, at, static_cast<int64_t>(page_bytes_), page)) {
    return std::strerror(errno);
  }
  if (page->size() < page_bytes_) return "is cut short";
  return Number(*page, 0, 8) == number ? "" : Spoiled(number);
}

// Reads a value that is stored in separate pages.
std::string LmdbReader::ReadLarge(uint64_t number, uint64_t size, std::string* value) const {
  std::string first;
  if (std::string wrong = ReadPage(number, &first); !wrong.empty()) return wrong;
  const uint64_t pages = Number(first, 12, 4);
  if (FlagsOf(first) != kLarge || pages > last_page_ - number + 1 ||
      size + kHeader > pages * page_bytes_) {
    return Spoiled(number);
  }
  const auto at = static_cast<int64_t>(number * page_bytes_ + kHeader);
  if (!ReadAt(descriptor_, at, static_cast<int64_t>(size), value)) return std::strerror(errno);
  return value->size() == size ? "" : "is cut short";
}

std::string LmdbReader::VisitNode(std::string_view page, size_t at, Walk* walk) {
  const uint64_t number = Number(page, 0, 8);
  const uint64_t flags = Number(page, at + 4, 2);
  const size_t key_bytes = Number(page, at + 6, 2);
  const uint64_t value_bytes = Number(page, at, 2) | Number(page, at + 2, 2) << 16;
  const bool elsewhere = flags == kElsewhere;
  if (flags != 0 && !elsewhere && !(flags == kTable && walk->of_tables)) return Spoiled(number);
  const size_t value_at = at + kNode + key_bytes;
  const uint64_t here = elsewhere ? 8 : value_bytes;
  if (value_at > page.size() || here > page.size() - value_at) return Spoiled(number);
  const std::string_view key = page.substr(at + kNode, key_bytes);
  if (walk->entries > 0 && key <= walk->last_key) return Spoiled(number);
  walk->last_key = key;
  ++walk->entries;
  if (!elsewhere) return walk->visit(key, page.substr(value_at, value_bytes));
  std::string value;
  std::string wrong = ReadLarge(Number(page, value_at, 8), value_bytes, &value);
  return wrong.empty() ? walk->visit(key, value) : wrong;
}

std::string LmdbReader::WalkPage(uint64_t number, int depth, Walk* walk) {
  // A page that is seen twice would make a cycle.
  if (depth > kDeepest || ++walk->pages > last_page_) return Spoiled(number);
  std::string page;
  if (std::string wrong = ReadPage(number, &page); !wrong.empty()) return wrong;
  const uint16_t flags = FlagsOf(page);
  const size_t lower = Number(page, 12, 2);
  if ((flags != kBranch && flags != kLeaf) || lower < kHeader || lower > page.size()) {
    return Spoiled(number);
  }
  for (size_t pointer = kHeader; pointer + 2 <= lower; pointer += 2) {
    const size_t at = Number(page, pointer, 2);
    if (at < lower || at + kNode > page.size()) return Spoiled(number);
    const uint64_t child =
        Number(page, at, 2) | Number(page, at + 2, 2) << 16 | Number(page, at + 4, 2) << 32;
    std::string wrong =
        flags == kLeaf ? VisitNode(page, at, walk) : WalkPage(child, depth + 1, walk);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string LmdbReader::WalkTable(const Table& table, const Visit& visit, bool of_tables) {
  Walk walk{visit, of_tables, 0, 0, {}};
  if (table.root != kNoPage) {
    if (std::string wrong = WalkPage(table.root, 0, &walk); !wrong.empty()) return wrong;
  }
  return walk.entries == table.entries ? "" : "is damaged: entries are missing";
}

std::string LmdbReader::ForEach(std::string_view table, const Visit& visit) {
  Table found;
  bool is_there = false;
  std::string wrong = WalkTable(
      main_,
      [&](std::string_view name, std::string_view value) -> std::string {
        if (name != table) return "";
        if (value.size() != kTableBytes) return "is damaged: a table entry is not a table";
        found = {static_cast<int64_t>(Number(value, 32, 8)), Number(value, 40, 8)};
        is_there = true;
        return "";
      },
      /*of_tables=*/true);
  if (!wrong.empty()) return wrong;
  if (!is_there) return "is an LMDB file of another program";
  return WalkTable(found, visit, /*of_tables=*/false);
}

bool LmdbReader::Find(std::string_view table, std::string_view key, std::string* value,
                      std::string* error) {
  bool is_there = false;
  *error = ForEach(table, [&](std::string_view each, std::string_view bytes) -> std::string {
    if (each != key) return "";
    *value = bytes;
    is_there = true;
    return "";
  });
  return error->empty() && is_there;
}

}  // namespace evenkeel::server
