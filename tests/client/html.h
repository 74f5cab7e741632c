// Checks of HTML pages.
#ifndef EVENKEEL_TESTS_CLIENT_HTML_H_
#define EVENKEEL_TESTS_CLIENT_HTML_H_

#include <cstddef>
#include <string>

namespace evenkeel::cli {

// Returns the fault in the nesting of elements, or "".
std::string NestingFault(const std::string& html);

// Counts how often `part` occurs.
size_t CountOf(const std::string& text, const std::string& part);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_TESTS_CLIENT_HTML_H_
