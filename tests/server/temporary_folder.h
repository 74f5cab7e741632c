// A folder that is removed after the test.
#ifndef EVENKEEL_TESTS_SERVER_TEMPORARY_FOLDER_H_
#define EVENKEEL_TESTS_SERVER_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace evenkeel::server {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char folder[] = "/tmp/evenkeel-test-XXXXXX";
    path_ = mkdtemp(folder);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_TEMPORARY_FOLDER_H_
