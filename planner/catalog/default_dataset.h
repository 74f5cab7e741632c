// The datasets that are assumed if a job gives none. Their `is_default` is set, so that plans can
// say so.
#ifndef EVENKEEL_PLANNER_CATALOG_DEFAULT_DATASET_H_
#define EVENKEEL_PLANNER_CATALOG_DEFAULT_DATASET_H_

#include <cstdint>

#include "planner/job.h"

namespace evenkeel::planner {

// Returns 40,941 real samples of vision-language instruction tuning, 1 to 5 tiles each, binned by
// 32 tokens. They were counted with 256 tokens of the language model per tile; for an encoder with
// another figure, the text tokens of each sample stay and its visual tokens change. At native
// resolution a tile is 256 units of one token.
Dataset DefaultVisionLanguageDataset(int64_t llm_tokens_per_unit = 256,
                                     bool native_resolution = false);

// Returns 1,000,000 samples of one unit of audio and 256 tokens of text. This is an assumption.
Dataset DefaultAudioDataset(int64_t llm_tokens_per_unit);

inline constexpr int64_t kDefaultTextTokens = 4096;

// Returns 1,000,000 samples of kDefaultTextTokens each. This is an assumption; it resembles a
// pre-training job that concatenates documents.
Dataset DefaultTextDataset();

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CATALOG_DEFAULT_DATASET_H_
