// Reads "images", "videos" and "audios" of a record from the events of a JSON parser:
//   "images": [[1280, 720]] or [{"width": 1280, "height": 720}], in pixels
//   "videos": [{"width": 1280, "height": 720, "frames": 240, "fps": 24}], or "seconds" with
//             either of the last two
//   "audios": [12.5], in seconds, or [{"seconds": 12.5}] or [{"samples": 200000, "rate": 16000}]
// Other keys of an object are ignored.
#ifndef EVENKEEL_CLIENT_CLI_MEDIA_MEDIA_READER_H_
#define EVENKEEL_CLIENT_CLI_MEDIA_MEDIA_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/media/rules.h"

namespace evenkeel::cli {

// Each event throws std::invalid_argument that names the accepted forms.
class MediaReader {
 public:
  // Begins a record.
  void Clear();
  // Returns whether the value of such a key of a record is media.
  static bool Names(std::string_view key);
  // The value of `key` comes next.
  void Begin(std::string_view key);
  // Returns whether the next value, or the rest of it, belongs to the media.
  bool expecting() const { return !kind_.empty(); }
  // Returns whether the record has any of the keys.
  bool any() const { return any_; }
  const SampleMedia& media() const { return media_; }

  void Open(bool array);
  void Close();
  void ItemKey(std::string_view name);
  void Number(double value, bool integer);
  void Other();

 private:
  [[noreturn]] void Fail() const;
  void Finish();
  int64_t Whole(const char* key) const;  // 0 if not given
  double Real(const char* key) const;

  std::string kind_;  // the key whose value is being read; else empty
  int depth_ = 0;
  bool item_is_array_ = false;
  std::string key_;              // of the item
  std::vector<double> numbers_;  // of an item that is an array
  std::map<std::string, double> named_;
  SampleMedia media_;
  bool any_ = false;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_MEDIA_MEDIA_READER_H_
