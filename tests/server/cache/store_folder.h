// A folder for stores that is gone after the test.
#ifndef EVENKEEL_TESTS_SERVER_CACHE_STORE_FOLDER_H_
#define EVENKEEL_TESTS_SERVER_CACHE_STORE_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace evenkeel::server {

class StoreFolder {
 public:
  StoreFolder() {
    char folder[] = "/tmp/evenkeel-store-XXXXXX";
    path_ = mkdtemp(folder);
  }
  ~StoreFolder() { std::filesystem::remove_all(path_); }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_CACHE_STORE_FOLDER_H_
