// Tests length files that are read sample by sample.
#include "client/cli/dataset/sample_lengths.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/dataset/length_files.h"
#include "tests/client/packs.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {
namespace {

std::string Fault(const std::vector<std::string>& paths) {
  try {
    ReadSampleLengths(paths);
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "no fault";
}

TEST(SampleLengthsTest, KeepsTheOrderOverFilesOfSeveralFormats) {
  const TestFolder folder;
  std::string npy = std::string("\x93NUMPY\x01\x00", 8);
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }\n";
  npy += static_cast<char>(header.size());
  npy += '\0';
  npy += header + std::string("\x05\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0", 16);
  const SampleLengths samples = ReadSampleLengths(
      {folder.Write("a",
                    "[{\"vit_num\": 3, \"token_num\": 900, \"image_flags\": 3}, "
                    "{\"vit_num\": 0, \"token_num\": 7}]"),
       folder.Write("b", "{\"length\": 50}\n\n{\"units\": 1, \"llm_tokens\": 16777216}\n"),
       folder.Write("c", npy)});
  EXPECT_EQ(samples.units, (std::vector<int32_t>{3, 0, 0, 1, 5, 0}));
  EXPECT_EQ(samples.tokens, (std::vector<int32_t>{900, 7, 50, 16777216, 16, 1}));
  ASSERT_EQ(samples.parts.size(), 3u);
  EXPECT_EQ(samples.parts[1].path, folder.Path("b"));
  EXPECT_EQ(samples.parts[1].count, 2);
}

TEST(SampleLengthsTest, RefusesHistogramsAndFaultsAsOtherReadersDo) {
  const TestFolder folder;
  const std::string good = folder.Write("good", "{\"length\": 50}\n");
  EXPECT_NE(Fault({folder.Write("h", "{\"llm_tokens\": [5], \"sample_count\": [2]}")})
                .find("h is a histogram: packing needs the samples one by one"),
            std::string::npos);
  EXPECT_NE(Fault({good, folder.Path("missing")}).find("cannot open"), std::string::npos);
  EXPECT_NE(Fault({good, folder.Write("e", "")}).find("is empty"), std::string::npos);
  EXPECT_NE(Fault({good, folder.Write("n", "[]")}).find("holds no samples"), std::string::npos);
  EXPECT_NE(Fault({folder.Write("z", "{\"length\": 50}\n{\"length\": 0}\n")})
                .find("z:2: 0 tokens: must be 1 to 16777216"),
            std::string::npos);
  EXPECT_NE(Fault({folder.Write("m", "[{\"length\": 50}]\n{\"length\": 9}\n")}).find("not JSON"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel::cli
