// Tests the files that `pack` writes: .npy, the folder of --output, the folder of --xtuner.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/pack/npy_writer.h"
#include "client/cli/pack/result_files.h"
#include "tests/client/packs.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<int64_t>;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(NpyWriterTest, WritesWhatNumpyWrites) {
  const TestFolder folder;
  NpyWriter writer(folder.Path("a.npy"));
  writer.Add(std::span<const int64_t>(Values{-1, int64_t{1} << 40, 3}));
  writer.Add(std::span<const uint32_t>(std::vector<uint32_t>{4294967295u, 0, 6}));
  writer.Finish({3, 2});
  const Npy npy = ReadNpyFile(folder.Path("a.npy"));
  EXPECT_EQ(npy.header, "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }");
  EXPECT_EQ(npy.values, (Values{-1, int64_t{1} << 40, 3, 4294967295, 0, 6}));
}

TEST(NpyWriterTest, OneDimensionHasAComma) {
  const TestFolder folder;
  NpyWriter(folder.Path("empty.npy")).Finish({0});
  const Npy npy = ReadNpyFile(folder.Path("empty.npy"));
  EXPECT_EQ(npy.header, "{'descr': '<i8', 'fortran_order': False, 'shape': (0,), }");
  EXPECT_TRUE(npy.values.empty());
}

TEST(NpyWriterTest, LongArraysComeThroughInParts) {
  const TestFolder folder;
  std::vector<uint32_t> values(10001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(3 * i);
  NpyWriter writer(folder.Path("a.npy"));
  writer.Add(std::span<const uint32_t>(values));
  writer.Finish({10001});
  const Npy npy = ReadNpyFile(folder.Path("a.npy"));
  EXPECT_EQ(npy.values, Values(values.begin(), values.end()));
}

TEST(NpyWriterTest, RefusesAWrongShapeAndAnUnwritablePlace) {
  const TestFolder folder;
  NpyWriter writer(folder.Path("a.npy"));
  EXPECT_THROW(writer.Finish({1}), CommandError);
  EXPECT_THROW(NpyWriter(folder.Path("missing/a.npy")), CommandError);
}

TEST(OutputFolderTest, AppearsWholeOrNotAtAll) {
  const TestFolder folder;
  const std::string out = folder.Path("out");
  {
    OutputFolder given_up(out, {"a", "last"}, /*force=*/false);
    folder.Write(fs::relative(given_up.PathOf("a"), folder.Path("")), "1");
  }
  EXPECT_TRUE(NamesIn(folder.Path("")).empty());
  OutputFolder kept(out + "/", {"a", "last"}, /*force=*/false);
  folder.Write(fs::relative(kept.PathOf("a"), folder.Path("")), "1");
  EXPECT_FALSE(fs::exists(out));
  kept.Commit();
  EXPECT_EQ(NamesIn(folder.Path("")), std::vector<std::string>{"out"});
  EXPECT_EQ(NamesIn(out), std::vector<std::string>{"a"});
}

TEST(OutputFolderTest, WritesOverResultsOnlyIfForced) {
  const TestFolder folder;
  const std::string out = folder.Path("out");
  fs::create_directories(out);
  folder.Write("out/mine", "stays");
  folder.Write("out/last", "old");
  folder.Write("out/gone", "old");
  const std::vector<std::string> names = {"a", "gone", "last"};
  try {
    OutputFolder refused(out, names, /*force=*/false);
    FAIL();
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("out/gone already exists"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("--force"), std::string::npos);
  }
  OutputFolder forced(out, names, /*force=*/true);
  for (const char* name : {"a", "last"}) {
    folder.Write(fs::relative(forced.PathOf(name), folder.Path("")), "new");
  }
  forced.Commit();
  EXPECT_EQ(NamesIn(out), (std::vector<std::string>{"a", "last", "mine"}));
  EXPECT_EQ(ReadText(out + "/last"), "new");
  EXPECT_EQ(ReadText(out + "/mine"), "stays");
}

TEST(OutputFolderTest, RefusesWhatIsNoFolder) {
  const TestFolder folder;
  folder.Write("file", "");
  EXPECT_THROW(OutputFolder(folder.Path("file"), {"a"}, false), CommandError);
  EXPECT_THROW(OutputFolder(folder.Path("file/below"), {"a"}, false), CommandError);
}

TEST(PackFilesTest, HoldPacksOrderAndSummary) {
  const TestFolder folder;
  const SmallPacking small;
  const auto out = MakePackFolder(folder.Path("out"), false);
  Progress progress("writing");
  WritePackFiles(*out, small.packed, small.samples, small.start, &progress);
  out->Commit();
  EXPECT_EQ(NamesIn(folder.Path("out")),
            (std::vector<std::string>{"oversize_index.npy", "pack_offsets.npy", "sample_index.npy",
                                      "step_order.npy", "summary.json"}));
  EXPECT_EQ(ReadNpyFile(folder.Path("out/pack_offsets.npy")).values, (Values{0, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(ReadNpyFile(folder.Path("out/sample_index.npy")).values, (Values{0, 1, 2, 3, 4, 5, 6}));
  const Npy order = ReadNpyFile(folder.Path("out/step_order.npy"));
  EXPECT_EQ(order.header, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2, 2), }");
  EXPECT_EQ(order.values, (Values{5, 1, 2, 3, 4, -1, 0, -1}));
  EXPECT_EQ(ReadNpyFile(folder.Path("out/oversize_index.npy")).values, (Values{3, 6}));

  const auto json = nlohmann::json::parse(ReadText(folder.Path("out/summary.json")));
  EXPECT_EQ(json["sample_count"], 7);  // a number, not a string
  EXPECT_EQ(json["rule"]["pack_count"], 6);
  EXPECT_EQ(json["rule"]["token_cap"], 20);
  EXPECT_EQ(json["oversize_sample_index"], (Values{3, 6}));
  EXPECT_EQ(json["step_order_shape"], (Values{2, 2, 2}));
  EXPECT_EQ(json["inputs"][1]["path"], "data/b.json");
  EXPECT_EQ(json["inputs"][1]["sample_count"], 3);
}

TEST(PackFilesTest, NoOversizeSamplesMeansNoListOfThem) {
  const TestFolder folder;
  SmallPacking small;
  small.start.mutable_rule()->set_unit_cap(9);
  small.start.mutable_rule()->set_token_cap(99);
  const auto out = MakePackFolder(folder.Path("out"), false);
  Progress progress("writing");
  WritePackFiles(*out, small.packed, small.samples, small.start, &progress);
  out->Commit();
  EXPECT_FALSE(fs::exists(folder.Path("out/oversize_index.npy")));
}

TEST(XtunerPresetTest, HasRowsByPathAndAnOrderByRank) {
  const TestFolder folder;
  const SmallPacking small;
  const auto out = MakeXtunerFolder(folder.Path("out"), false);
  Progress progress("writing");
  WriteXtunerPreset(*out, small.packed, small.samples, {"x.jsonl", "y.jsonl"}, small.start,
                    &progress);
  out->Commit();
  EXPECT_EQ(ReadNpyFile(folder.Path("out/boundaries.npy")).values, (Values{0, 2, 3, 4, 5, 6, 7}));
  const Npy rows = ReadNpyFile(folder.Path("out/samples.npy"));
  EXPECT_EQ(rows.header, "{'descr': '<i8', 'fortran_order': False, 'shape': (7, 6), }");
  ASSERT_EQ(rows.values.size(), 42u);
  EXPECT_EQ(Values(rows.values.begin() + 18, rows.values.begin() + 30),
            (Values{0, 3, -1, -1, 0, 10, 1, 0, -1, -1, 0, 20}));
  // Step 0 has slot 0 of both ranks, then slot 1 of both; step 1 has only slot 0.
  EXPECT_EQ(ReadNpyFile(folder.Path("out/order.npy")).values, (Values{5, 2, 1, 3, 4, 0}));
  EXPECT_EQ(ReadText(folder.Path("out/paths.json")), "[\"x.jsonl\",\"y.jsonl\"]\n");
}

TEST(XtunerPresetTest, LengthFilesStandForTheDatasetsThatAreNotNamed) {
  const TestFolder folder;
  const SmallPacking small;
  const auto out = MakeXtunerFolder(folder.Path("out"), false);
  Progress progress("writing");
  WriteXtunerPreset(*out, small.packed, small.samples, {}, small.start, &progress);
  out->Commit();
  EXPECT_EQ(ReadText(folder.Path("out/paths.json")), "[\"data/a.json\",\"data/b.json\"]\n");
}

}  // namespace
}  // namespace evenkeel::cli
