// Writes NumPy's .npy (format 1.0, C order; '<i8', or '<f8' where doubles are added) piece by
// piece, without holding an array.
#ifndef EVENKEEL_CLIENT_CLI_PACK_NPY_WRITER_H_
#define EVENKEEL_CLIENT_CLI_PACK_NPY_WRITER_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace evenkeel::cli {

class NpyWriter {
 public:
  // Creates the file. Throws CommandError(kBadInput) if that is impossible, as all methods do if
  // the disk refuses.
  explicit NpyWriter(const std::string& path);
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  void Add(std::span<const int64_t> values);
  void Add(std::span<const uint32_t> values);
  void Add(std::span<const int32_t> values);
  // Adds doubles. The values of a file are either all doubles or all integers.
  void Add(std::span<const double> values);

  // Writes the shape into the header and ends the file. `shape` describes the number of values that
  // were added.
  void Finish(const std::vector<int64_t>& shape);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  template <typename T>
  void AddNarrow(std::span<const T> values);
  void Write(const void* bytes, size_t size);
  [[noreturn]] void Fail() const;

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  int64_t values_ = 0;
  bool real_ = false;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_NPY_WRITER_H_
