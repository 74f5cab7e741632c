#include "client/cli/job/priced.h"

#include "client/cli/base/parse_number.h"

namespace evenkeel::cli {

std::optional<Priced> ParsePriced(const std::string& text) {
  const size_t at = text.find('@');
  if (at == std::string::npos) return Priced{text, std::nullopt};
  const std::optional<double> price = ParseNumber<double>(text.substr(at + 1));
  if (!price || *price < 0) return std::nullopt;
  return Priced{text.substr(0, at), price};
}

}  // namespace evenkeel::cli
