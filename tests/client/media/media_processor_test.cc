// The rules are compared with transformers' own processors by tests/models/lengths.py, which wrote
// media_vectors.json. This holds the rules to those answers, and what is refused.
#include "client/cli/media/media_processor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/dataset/length_files.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {
namespace {

class MediaProcessorTest : public testing::Test {
 protected:
  MediaProcessor Read(const std::string& preprocessor, const std::string& processor = "{}") const {
    folder_.Write("preprocessor_config.json", preprocessor);
    folder_.Write("processor_config.json", processor);
    return MediaProcessor(folder_.path());
  }

  const TestFolder folder_;
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
    const SampleLengthsOfMedia found =
        Read(c.preprocessor, c.processor).Of({.images = {{c.width, c.height}}});
    EXPECT_EQ(found.vision_units, c.units) << c.preprocessor;
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
  EXPECT_THROW(MediaProcessor(folder_.Path("none.json")), CommandError);
  const MediaProcessor qwen = Read(R"({"image_processor_type":"Qwen2VLImageProcessor"})");
  EXPECT_THROW(qwen.Of({.images = {{0, 10}}}), std::invalid_argument);
  EXPECT_THROW(qwen.Of({.images = {{2010, 10}}}), std::invalid_argument);
  EXPECT_NO_THROW(qwen.Of({.images = {{2000, 10}}}));
  EXPECT_THROW(qwen.Of({.audios = {{.seconds = 1}}}), std::invalid_argument);
  EXPECT_THROW(qwen.Of({.videos = {{640, 360, 0}}}), std::invalid_argument);
  EXPECT_THROW(qwen.Of({.videos = {{640, 360, 2'000'000}}}), std::invalid_argument);
}

TEST_F(MediaProcessorTest, CountsTheImagesOfRecords) {
  const MediaProcessor qwen = Read(R"({"image_processor_type":"Qwen2VLImageProcessor"})");
  const std::string lines =
      folder_.Write("lengths.jsonl", R"({"text_tokens":80,"images":[[1280,720],[1280,720]]})"
                                     "\n"
                                     R"({"images":[],"text_tokens":5})"
                                     "\n"
                                     R"({"units":1,"llm_tokens":9})"
                                     "\n");
  const std::vector<LengthCount> counts = ReadLengthFiles({lines}, &qwen).Sorted();
  const std::vector<LengthCount> expected = {{0, 5, 1}, {1, 9, 1}, {2 * 1196, 80 + 2 * 1196, 1}};
  EXPECT_EQ(counts, expected);
  EXPECT_THROW(ReadLengthFiles({lines}), CommandError) << "no processor";
  for (const char* bad : {R"({"images":[[1280]],"text_tokens":1})",
                          R"({"images":[1280,720],"text_tokens":1})",
                          R"({"images":[[1280,720,3]],"text_tokens":1})",
                          R"({"images":[[[1280,720]]],"text_tokens":1})",
                          R"({"images":{"w":1},"text_tokens":1})",
                          R"({"images":[["1280","720"]],"text_tokens":1})",
                          R"({"images":[[1280,720]],"llm_tokens":1})",
                          R"({"images":7,"text_tokens":1})",
                          R"({"images":[[1280.5,720]],"text_tokens":1})",
                          R"({"images":[]})",
                          R"({"images":[[1280,720]]})",
                          R"({"images":[{"width":1280}],"text_tokens":1})",
                          R"({"images":[[1280,720]],"images":[[1280,720]],"text_tokens":1})",
                          R"({"videos":[[640,360]],"text_tokens":1})",
                          R"({"videos":["a.mp4"],"text_tokens":1})",
                          R"({"videos":[{"width":640,"height":360}],"text_tokens":1})",
                          R"({"videos":[{"width":640,"height":360,"frames":"9"}],"text_tokens":1})",
                          R"({"videos":[{"width":640,"height":360,"frames":0}],"text_tokens":1})",
                          R"({"audios":[1.5],"text_tokens":1})",
                          R"({"images":[[1280,720]],"text_tokens":-1})"})
    EXPECT_THROW(ReadLengthFiles({folder_.Write("bad.jsonl", bad)}, &qwen), CommandError) << bad;
}

// The answers of transformers' own processors, for images, videos and recordings.
TEST_F(MediaProcessorTest, AnswersAsTransformers) {
  const nlohmann::json cases = nlohmann::json::parse(
      std::ifstream(EVENKEEL_SOURCE_DIR "/tests/client/media/media_vectors.json"));
  ASSERT_GE(cases.size(), 40U);
  for (const nlohmann::json& c : cases) {
    std::filesystem::remove(folder_.Path("video_preprocessor_config.json"));
    if (!c["video"].empty()) folder_.Write("video_preprocessor_config.json", c["video"].dump());
    const MediaProcessor processor = Read(c["preprocessor"].dump(), c["processor"].dump());
    EXPECT_TRUE(processor.unread().empty()) << c["preprocessor"];
    ASSERT_EQ(c["records"].size(), c["lengths"].size());
    for (size_t i = 0; i < c["records"].size(); ++i) {
      nlohmann::json record = c["records"][i];
      record["text_tokens"] = 1;
      const std::string lines = folder_.Write("lengths.jsonl", record.dump() + "\n");
      const std::vector<LengthCount> counts = ReadLengthFiles({lines}, &processor).Sorted();
      const int64_t units = c["lengths"][i][0].get<int64_t>() + c["lengths"][i][1].get<int64_t>();
      const std::vector<LengthCount> expected = {{units, 1 + c["lengths"][i][2].get<int64_t>(), 1}};
      EXPECT_EQ(counts, expected) << c["preprocessor"] << c["video"] << record;
    }
  }
}

TEST_F(MediaProcessorTest, CountsUnitsOfTwoEncoders) {
  const MediaProcessor omni =
      Read(R"({"image_processor_type":"Qwen2VLImageProcessor","chunk_length":300,
               "feature_extractor_type":"WhisperFeatureExtractor",
               "processor_class":"Qwen2_5OmniProcessor"})");
  EXPECT_TRUE(omni.unread().empty());
  const std::string lines = folder_.Write(
      "lengths.jsonl", R"({"text_tokens":3,"images":[[1280,720]],"audios":[30,{"seconds":1}]})"
                       "\n"
                       R"({"text_tokens":5,"audios":[{"samples":480000,"rate":48000}]})"
                       "\n"
                       R"({"text_tokens":9})");
  const std::vector<LengthCount> counts = ReadLengthFiles({lines}, &omni).Sorted();
  planner::PerEncoder<int64_t> both, heard;
  both[0] = 1196, both[1] = 775, heard[1] = 250;
  const std::vector<LengthCount> expected = {{{}, 9, 1}, {heard, 255, 1}, {both, 1974, 1}};
  EXPECT_EQ(counts, expected);
}

// Several images of a sample are not cut.
TEST_F(MediaProcessorTest, OneVisionCutsSingleImages) {
  const MediaProcessor one_vision = Read(
      R"({"image_processor_type":"LlavaOnevisionImageProcessor"})", R"({"num_image_tokens":729})");
  EXPECT_EQ(one_vision.Of({.images = {{768, 768}}}).vision_units, 5);
  EXPECT_EQ(one_vision.Of({.images = {{768, 768}, {768, 768}}}).tokens, 2 * 730);
}

TEST_F(MediaProcessorTest, KimiVlFitsImagesIntoItsPatches) {
  const MediaProcessor kimi =
      Read(R"({"image_processor_type":"KimiVLImageProcessor","pad_input":true,
               "in_token_limit":4096,"merge_kernel_size":[2,2]})");
  EXPECT_EQ(kimi.Of({.images = {{1280, 720}}}).tokens, 43 * 25);  // scaled to 1,202 x 676
  EXPECT_EQ(kimi.Of({.images = {{280, 100}}}).tokens, 10 * 4);
  EXPECT_THROW(kimi.Of({.images = {{28000, 14}}}), std::invalid_argument);
}

TEST_F(MediaProcessorTest, ReadsTheFilesOfNewerVersions) {
  const MediaProcessor whole = Read("{}", R"({"processor_class":"Qwen3VLProcessor",
                     "image_processor":{"image_processor_type":"Qwen2VLImageProcessorFast",
                                        "patch_size":16,"odd":1},
                     "video_processor":{"video_processor_type":"Qwen3VLVideoProcessor"}})");
  const std::vector<std::string> unread = {"preprocessor_config.json: odd"};
  EXPECT_EQ(whole.unread(), unread);
  EXPECT_EQ(whole.Of({.images = {{1280, 720}}}).tokens, 880);
  EXPECT_GT(whole.Of({.videos = {{640, 360, 240, 24, 0}}}).tokens, 0);
  EXPECT_THROW(whole.Of({.videos = {{640, 360, 240, 0, 0}}}), std::invalid_argument) << "no rate";
}

TEST_F(MediaProcessorTest, RefusesMarksThatItDoesNotKnow) {
  for (
      const char* bad :
      {R"({"image_processor_type":"PixtralImageProcessor","processor_class":"LightOnOcrProcessor"})",
       R"({"image_processor_type":"Qwen2VLImageProcessor","do_resize":false})",
       R"({"image_processor_type":"Gemma3ImageProcessor","do_pan_and_scan":true})",
       R"({"image_processor_type":"KimiVLImageProcessor"})",
       R"({"feature_extractor_type":"WhisperFeatureExtractor"})",
       R"({"feature_extractor_type":"ClapFeatureExtractor","processor_class":"WhisperProcessor"})",
       R"({"video_processor_type":"VJEPA2VideoProcessor"})"})
    EXPECT_THROW(Read(bad), CommandError) << bad;
  folder_.Write("video_preprocessor_config.json",
                R"({"video_processor_type":"Qwen2VLVideoProcessor","do_sample_frames":true})");
  EXPECT_THROW(MediaProcessor(folder_.Path("video_preprocessor_config.json")), CommandError);
}

// Records of other tools may have such keys. They are not read unless a processor is given.
TEST_F(MediaProcessorTest, IgnoresMediaBesideTokensWithoutAProcessor) {
  const std::string lines =
      folder_.Write("lengths.jsonl", R"({"llm_tokens":9,"images":["a.jpg"],"videos":7})");
  EXPECT_EQ(ReadLengthFiles({lines}).samples(), 1);
}

}  // namespace
}  // namespace evenkeel::cli
