#include "client/cli/base/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "client/cli/base/command_error.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {
namespace {

std::string FaultOf(const std::string& path) {
  try {
    WriteWholeFile(path, "text\n");
  } catch (const CommandError& error) {
    return error.what();
  }
  return "";
}

TEST(OutputFileTest, AppearsUnderItsNameAlone) {
  const TestFolder folder;
  WriteWholeFile(folder.Path("plan.json"), "text\n");
  EXPECT_EQ(ReadText(folder.Path("plan.json")), "text\n");
  EXPECT_FALSE(std::filesystem::exists(folder.Path("plan.json.partial")));
}

TEST(OutputFileTest, FailureSaysWhyAndLeavesNothing) {
  const TestFolder folder;
  const std::string path = folder.Path("taken");
  std::filesystem::create_directory(path);
  EXPECT_EQ(FaultOf(path), "cannot write " + path + ": Is a directory");
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

}  // namespace
}  // namespace evenkeel::cli
