// Counts in words.
#ifndef EVENKEEL_CLIENT_CLI_RENDER_WORDS_H_
#define EVENKEEL_CLIENT_CLI_RENDER_WORDS_H_

#include <cstdint>
#include <string>

namespace evenkeel::cli {

// Returns the plural of a regular noun: "packs", "micro-batches".
std::string PluralOf(const std::string& noun);

// Returns "1 pack", "1,200 packs".
std::string Counted(int64_t count, const std::string& noun);

// Returns "1 sample" or "6.88 samples", for a mean.
std::string CountedMean(double count, const std::string& noun);

// Returns `text` with commas in its whole numbers: "1000000 samples" becomes "1,000,000 samples".
// Digits that belong to a name, as in "A100-80GB" or "v1.25", stay as they are.
std::string WithThousands(const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_RENDER_WORDS_H_
