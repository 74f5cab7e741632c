#include "client/cli/dataset/length_files.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/dataset/histogram.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {
namespace {

class LengthFilesTest : public testing::Test {
 protected:
  std::vector<LengthCount> Read(const std::string& content) const {
    return ReadLengthFiles({folder_.Write("lengths", content)}).Sorted();
  }

  // Returns the error's message, without the folder.
  std::string Fault(const std::string& content) const {
    try {
      Read(content);
    } catch (const CommandError& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
      std::string what = error.what();
      const std::string folder = folder_.path() + "/";
      for (size_t at = what.find(folder); at != std::string::npos; at = what.find(folder)) {
        what.erase(at, folder.size());
      }
      return what;
    }
    return "no fault";
  }

  const TestFolder folder_;
};

std::string NpyBytes(const std::string& header, const std::string& data, char major = 1) {
  std::string text = "\x93NUMPY";
  text += major;
  text += '\0';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  if (major > 1) text += std::string(2, '\0');
  return text + header + data;
}

std::string Int32s(const std::vector<int32_t>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}

std::string Int64s(const std::vector<int64_t>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 8);
}

using Counts = std::vector<LengthCount>;

TEST_F(LengthFilesTest, ReadsWhatOmniBalShips) {
  EXPECT_EQ(Read("[\n {\"vit_num\": 5, \"token_num\": 1341, \"image_flags\": 5},\n"
                 " {\"vit_num\": 1, \"token_num\": 358, \"image_flags\": 1},\n"
                 " {\"vit_num\": 5, \"token_num\": 1341, \"image_flags\": 5}]"),
            (Counts{{1, 358, 1}, {5, 1341, 2}}));
}

TEST_F(LengthFilesTest, ReadsJsonLines) {
  EXPECT_EQ(
      Read("{\"units\": 2, \"llm_tokens\": 600}\n\n{\"length\": 7, \"id\": {\"a\": [1, 2]}}\r\n"
           "{\"token_num\": 9, \"vit_num\": 1}"),
      (Counts{{0, 7, 1}, {1, 9, 1}, {2, 600, 1}}));
}

// As the Python package does.
TEST_F(LengthFilesTest, NegativeLengthsMarkSamplesWithoutImage) {
  EXPECT_EQ(Read("{\"length\": -5}\n{\"length\": 7, \"units\": 2}\n{\"length\": -5, \"units\": 0}"),
            (Counts{{0, 5, 2}, {2, 7, 1}}));
  EXPECT_EQ(Read(NpyBytes("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n",
                          Int32s({-9, 7}))),
            (Counts{{0, 7, 1}, {0, 9, 1}}));
  EXPECT_EQ(Fault("{\"llm_tokens\": [-5], \"sample_count\": [1]}"),
            "lengths: record 0: -5 tokens: must be 1 to 16777216");
}

TEST_F(LengthFilesTest, ReadsUnitsOfSeveralEncoders) {
  const auto of = [](int64_t first, int64_t second) {
    planner::PerEncoder<int64_t> units = first;
    units[1] = second;
    return units;
  };
  const Counts expected = {{0, 7, 1}, {of(0, 50), 60, 1}, {of(256, 0), 300, 2}};
  EXPECT_EQ(Read("{\"length\": 7}\n{\"units\": [256, 0], \"llm_tokens\": 300}\n"
                 "{\"units\": [0, 50], \"length\": 60}\n{\"vit_num\": [256, 0], \"length\": 300}"),
            expected);
  EXPECT_EQ(Read(NpyBytes("{'descr': '<i4', 'fortran_order': False, 'shape': (4, 3), }\n",
                          Int32s({256, 0, 300, 0, 0, 7, 0, 50, 60, 256, 0, 300}))),
            expected);
  const std::string histogram =
      "{\"encoder_count\": 2, \"units\": [0, 0, 0, 50, 256, 0], \"llm_tokens\": [7, 60, 300], "
      "\"sample_count\": [1, 1, 2]}";
  EXPECT_EQ(Read(histogram), expected);
  const LengthCounts counts = ReadLengthFiles({folder_.Write("lengths", histogram)});
  EXPECT_EQ(counts.encoders(), 2u);
  const v1::Histogram binned =
      BinLengths(counts.Sorted(), kMaxHistogramBytes, counts.encoders()).histogram;
  EXPECT_EQ(binned.encoder_count(), 2);
  EXPECT_EQ(std::vector<int64_t>(binned.units().begin(), binned.units().end()),
            (std::vector<int64_t>{0, 0, 0, 50, 256, 0}));
}

TEST_F(LengthFilesTest, ReadsNpy) {
  EXPECT_EQ(Read(NpyBytes("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }   \n",
                          Int32s({5, 7, 5}))),
            (Counts{{0, 5, 2}, {0, 7, 1}}));
  EXPECT_EQ(Read(NpyBytes("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }\n",
                          Int64s({1, 300, 2, 600}), 2)),
            (Counts{{1, 300, 1}, {2, 600, 1}}));
}

TEST_F(LengthFilesTest, ReadsItsOwnHistograms) {
  const Counts counts = {{0, 12, 3}, {2, 600, 1'000'000'000}};
  EXPECT_EQ(Read(ToJson(BinLengths(counts).histogram, /*pretty=*/false)), counts);
  EXPECT_EQ(Read(ToJson(BinLengths(counts).histogram)), counts);
}

TEST_F(LengthFilesTest, JoinsFiles) {
  const auto counts =
      ReadLengthFiles({folder_.Write("a.json", "[{\"length\": 5}]"),
                       folder_.Write("b.jsonl", "{\"length\": 5}\n{\"length\": 6}")});
  EXPECT_EQ(counts.samples(), 3);
  EXPECT_EQ(counts.Sorted(), (Counts{{0, 5, 2}, {0, 6, 1}}));
}

TEST_F(LengthFilesTest, FilesLargerThanOneChunkKeepTheirLines) {
  std::string text = "[";
  for (int i = 0; i < 20000; ++i) text += "{\"vit_num\": 1, \"token_num\": 300},\n";
  EXPECT_EQ(Read(text + "{\"token_num\": 4}]"), (Counts{{0, 4, 1}, {1, 300, 20000}}));
  EXPECT_EQ(Fault(text + "{\"token_num\": 0}]"),
            "lengths:20001: record 20000: 0 tokens: must be 1 to 16777216");
}

TEST_F(LengthFilesTest, NamesFileLineAndRecordOfBadRecords) {
  const std::pair<const char*, const char*> cases[] = {
      {"[\n{\"length\": 5},\n{\"length\": -6, \"units\": 2}]",
       "lengths:3: record 1: -6 tokens: a negative length is LLaVA's mark of a sample without "
       "image, "
       "but it has units"},
      {"[{\"length\": -16777217}]", "lengths:1: record 0: 16777217 tokens: must be 1 to 16777216"},
      {"{\"length\": 5}\n{\"length\": 16777217}",
       "lengths:2: 16777217 tokens: must be 1 to 16777216"},
      {"[{\"length\": 5, \"units\": -1}]", "lengths:1: record 0: -1 units: must be 0 to 1000000"},
      {"[{\"length\": 99999999999999999999}]",
       "lengths:1: record 0: \"length\" is 99999999999999999999: an integer is needed"},
      {"[{\"length\": 18446744073709551615}]",
       "lengths:1: record 0: 9223372036854775807 tokens: must be 1 to 16777216"},
      {"[{\"length\": 5.5}]", "lengths:1: record 0: \"length\" is 5.5: an integer is needed"},
      {"[{\"length\": \"5\"}]", "lengths:1: record 0: \"length\" has no integer value"},
      {"[{\"length\": [5]}]", "lengths:1: record 0: \"length\" has no integer value"},
      {"[{\"length\": 5, \"token_num\": 6}]",
       "lengths:1: record 0: \"token_num\" says again what another key said"},
      {"[{\"vit_num\": 5}]",
       "lengths:1: record 0: no tokens: one of \"token_num\", \"llm_tokens\", \"length\" and "
       "\"text_tokens\" is "
       "needed"},
      {"[{\"length\": 5, \"units\": [1, -1]}]",
       "lengths:1: record 0: -1 units: must be 0 to 1000000"},
      {"[{\"length\": 5, \"units\": []}]",
       "lengths:1: record 0: \"units\" must be an integer, or an array of 1 to 4: one for each "
       "encoder"},
      {"[{\"length\": 5, \"units\": [1, [2]]}]",
       "lengths:1: record 0: \"units\" must be an integer, or an array of 1 to 4: one for each "
       "encoder"},
      {"[{\"length\": 5, \"units\": [1, 2, 3, 4, 5]}]",
       "lengths:1: record 0: \"units\" must be an integer, or an array of 1 to 4: one for each "
       "encoder"},
      {"{\"length\": 5, \"units\": [1, 2]}\n{\"length\": 5, \"units\": 3}",
       "lengths:2: units of 1 encoder, but samples before it have those of 2"},
      {"[5]", "lengths:1: record 0: a record must be an object"},
      {"[[{\"length\": 5}]]", "lengths:1: record 0: a record must be an object"},
      {"{\"length\": 5}\n[{\"length\": 5}]", "lengths:2: a record must be an object"},
  };
  for (const auto& [content, fault] : cases) EXPECT_EQ(Fault(content), fault) << content;
}

TEST_F(LengthFilesTest, RefusesWhatIsNoLengthFile) {
  EXPECT_EQ(Fault(""), "lengths is empty");
  EXPECT_EQ(
      Fault("  \n"),
      "lengths is not a length file: neither a JSON array, nor JSON Lines of objects, nor .npy");
  EXPECT_EQ(Fault("[]"), "lengths holds no samples");
  EXPECT_EQ(Fault("\x1f\x8b\x08"),
            "lengths is compressed: give it as `zcat FILE | evenkeelctl ... -`");
  EXPECT_NE(Fault("[{\"length\": 5},\n{\"length\": 5").find("lengths:2: record 1: not JSON"),
            std::string::npos);
  EXPECT_NE(Fault("[{\"length\": 5}] trailing").find("not JSON"), std::string::npos);
  EXPECT_NE(Fault("{\"length\": 5} {\"length\": 6}").find("not JSON"), std::string::npos);
  EXPECT_NE(Fault(std::string(100000, '[')).find("lengths:1: record 0"), std::string::npos);
  EXPECT_NE(Fault("{\"sample_count\": [1], \"llm_tokens\": [1, 2]}").find("0, 2 and 1 values"),
            std::string::npos);
  EXPECT_THROW(ReadLengthFiles({"/nonexistent/lengths.json"}), CommandError);
  EXPECT_THROW(ReadLengthFiles({testing::TempDir()}), CommandError);
}

TEST_F(LengthFilesTest, RefusesBadNpy) {
  const std::string good = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }\n";
  EXPECT_EQ(Fault(NpyBytes(good, Int32s({5, 7}))), "lengths: cut short: 2 of 3 samples are there");
  EXPECT_EQ(Fault(NpyBytes(good, Int32s({5, 7, 5, 9}))),
            "lengths: data follows the 3 samples of the header");
  EXPECT_EQ(Fault(NpyBytes(good, Int32s({5, 7, 5})).substr(0, 30)),
            "lengths: npy header is cut short");
  EXPECT_EQ(Fault("\x93NUMPY"), "lengths: npy header is cut short");
  EXPECT_EQ(Fault(NpyBytes(good, "", 9)), "lengths: npy format 9 is not known");
  EXPECT_EQ(Fault(NpyBytes(good, Int32s({5, 0, 5}))),
            "lengths: record 1: 0 tokens: must be 1 to 16777216");
  const std::pair<const char*, const char*> headers[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "dtype '<f4'"},
      {"{'descr': '>i4', 'fortran_order': False, 'shape': (3,), }", "dtype '>i4'"},
      {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,), }",
       "records are no lengths"},
      {"{'descr': '<i4', 'fortran_order': True, 'shape': (3, 2), }", "fortran_order must be False"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (3, 6), }", "shape (3, 6)"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (), }", "shape ()"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "bad shape"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (-3,), }", "bad shape"},
      {"{'descr': '<i4', 'fortran_order': False}", "are needed"},
      {"{'descr': '<i4', 'descr': '<i4'}", "unexpected key 'descr'"},
      {"{'descr': '<i4", "a string is missing"},
      {"", "'{' is missing"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (3,), } x", "something follows"},
  };
  for (const auto& [header, fault] : headers) {
    EXPECT_NE(Fault(NpyBytes(header, Int32s({5, 7, 5}))).find(fault), std::string::npos)
        << header << " -> " << Fault(NpyBytes(header, ""));
  }
  EXPECT_EQ(Fault(NpyBytes("{'descr': '<i4', 'fortran_order': False, 'shape': (0,), }", "")),
            "lengths holds no samples");
  EXPECT_EQ(Fault(NpyBytes(
                "{'descr': '<i8', 'fortran_order': False, 'shape': (9223372036854775807, 2), }",
                Int64s({1, 300}))),
            "lengths: cut short: 1 of 9223372036854775807 samples are there");
}

}  // namespace
}  // namespace evenkeel::cli
