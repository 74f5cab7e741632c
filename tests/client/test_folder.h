// A folder for the files of a test, which goes with it.
#ifndef EVENKEEL_TESTS_CLIENT_TEST_FOLDER_H_
#define EVENKEEL_TESTS_CLIENT_TEST_FOLDER_H_

#include <filesystem>
#include <string>

namespace evenkeel::cli {

class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ / name; }
  std::string Write(const std::string& name, const std::string& content) const;

 private:
  const std::filesystem::path path_;
};

std::string ReadText(const std::string& path);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_TESTS_CLIENT_TEST_FOLDER_H_
