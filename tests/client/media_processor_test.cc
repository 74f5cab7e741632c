// The rules are compared with transformers' own processors by tests/models/lengths.py. This holds a
// few values of theirs, and what is refused.
#include "client/cli/media/media_processor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "client/cli/exit_codes.h"
#include "client/cli/length_files.h"

namespace evenkeel::cli {
namespace {

class MediaProcessorTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) const {
    std::string path = folder_ + "/" + name;
    std::ofstream(path) << content;
    return path;
  }
  MediaProcessor Read(const std::string& preprocessor, const std::string& processor = "{}") const {
    Write("preprocessor_config.json", preprocessor);
    Write("processor_config.json", processor);
    return MediaProcessor(folder_);
  }

  std::string folder_;
};

TEST_F(MediaProcessorTest, FollowsEachRule) {
  struct Case {
    const char *preprocessor, *processor;
    int64_t width, height, units, tokens;
  };
  const Case cases[] = {
      {R"({"image_processor_type":"Qwen2VLImageProcessorFast"})", "{}", 1280, 720, 1196, 1196},
      {R"({"image_processor_type":"Qwen2VLImageProcessor","max_pixels":200704})", "{}", 1280, 720,
       252, 252},
      {R"({"image_processor_type":"PixtralImageProcessor","patch_size":{"height":14,"width":14},
           "size":{"longest_edge":1540}})",
       R"({"patch_size":14,"spatial_merge_size":2})", 1280, 720, 1196, 1222},
      {R"({"image_processor_type":"GotOcr2ImageProcessor","size":{"height":448,"width":448},
           "crop_to_patches":true})",
       R"({"image_seq_length":256})", 1280, 720, 9, 2306},
      {R"({"image_processor_type":"GotOcr2ImageProcessorFast","size":{"height":448,"width":448},
           "crop_to_patches":false,"processor_class":"InternVLProcessor"})",
       "{}", 1280, 720, 9, 2306},
      {R"({"image_processor_type":"GotOcr2ImageProcessor","size":{"height":448,"width":448},
           "crop_to_patches":false,"min_patches":2})",
       "{}", 1280, 720, 1, 258},
      {R"({"image_processor_type":"Idefics3ImageProcessor"})", "{}", 1280, 720, 13, 2227},
      {R"({"image_processor_type":"CLIPImageProcessor","crop_size":{"height":336,"width":336}})",
       R"({"patch_size":14})", 1280, 720, 1, 576},
  };
  for (const Case& c : cases) {
    const ImageLengths found = Read(c.preprocessor, c.processor).Of(c.width, c.height);
    EXPECT_EQ(found.units, c.units) << c.preprocessor;
    EXPECT_EQ(found.tokens, c.tokens) << c.preprocessor;
  }
}

TEST_F(MediaProcessorTest, RefusesWhatItDoesNotKnow) {
  for (
      const char* bad :
      {"{", "[]", "{}", R"({"image_processor_type":"FuyuImageProcessor"})",
       R"({"image_processor_type":"Qwen2VLImageProcessor","patch_size":0})",
       R"({"image_processor_type":"Qwen2VLImageProcessor","max_pixels":"many"})",
       R"({"image_processor_type":"SiglipImageProcessor"})", R"({"image_processor_type":7})",
       R"({"image_processor_type":"PixtralImageProcessor","size":1024})",
       R"({"image_processor_type":"Qwen2VLImageProcessor","size":{"height":448,"width":448}})",
       R"({"image_processor_type":"GotOcr2ImageProcessor","crop_to_patches":true,"min_patches":13})"})
    EXPECT_THROW(Read(bad), CommandError) << bad;
  EXPECT_THROW(MediaProcessor(folder_ + "/none.json"), CommandError);
  const MediaProcessor qwen = Read(R"({"image_processor_type":"Qwen2VLImageProcessor"})");
  EXPECT_THROW(qwen.Of(0, 10), std::invalid_argument);
  EXPECT_THROW(qwen.Of(2010, 10), std::invalid_argument);
  EXPECT_NO_THROW(qwen.Of(2000, 10));
}

TEST_F(MediaProcessorTest, CountsTheImagesOfRecords) {
  const MediaProcessor qwen = Read(R"({"image_processor_type":"Qwen2VLImageProcessor"})");
  const std::string lines =
      Write("lengths.jsonl", R"({"text_tokens":80,"images":[[1280,720],[1280,720]]})"
                             "\n"
                             R"({"images":[],"text_tokens":5})"
                             "\n"
                             R"({"units":1,"llm_tokens":9})"
                             "\n");
  const std::vector<LengthCount> counts = ReadLengthFiles({lines}, &qwen).Sorted();
  const std::vector<LengthCount> expected = {{0, 5, 1}, {1, 9, 1}, {2 * 1196, 80 + 2 * 1196, 1}};
  EXPECT_EQ(counts, expected);
  EXPECT_THROW(ReadLengthFiles({lines}), CommandError) << "no processor";
  for (const char* bad :
       {R"({"images":[[1280]],"text_tokens":1})", R"({"images":[1280,720],"text_tokens":1})",
        R"({"images":[[1280,720,3]],"text_tokens":1})",
        R"({"images":[[[1280,720]]],"text_tokens":1})", R"({"images":{"w":1},"text_tokens":1})",
        R"({"images":[["1280","720"]],"text_tokens":1})",
        R"({"images":[[1280,720]],"llm_tokens":1})", R"({"images":7,"text_tokens":1})",
        R"({"images":[[1280.5,720]],"text_tokens":1})", R"({"images":[]})"})
    EXPECT_THROW(ReadLengthFiles({Write("bad.jsonl", bad)}, &qwen), CommandError) << bad;
}

}  // namespace
}  // namespace evenkeel::cli
