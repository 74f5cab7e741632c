// "TYPE@PRICE": GPUs with the price of a GPU-hour.
#ifndef EVENKEEL_CLIENT_CLI_JOB_PRICED_H_
#define EVENKEEL_CLIENT_CLI_JOB_PRICED_H_

#include <optional>
#include <string>

namespace evenkeel::cli {

struct Priced {
  std::string what;  // before the "@"
  std::optional<double> price;
};

// Returns nothing if the text after an "@" is not a number from 0 on.
std::optional<Priced> ParsePriced(const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_PRICED_H_
