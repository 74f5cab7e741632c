#include "tests/client/html.h"

#include <vector>

namespace evenkeel::cli {

std::string NestingFault(const std::string& html) {
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    const size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    std::string tag = html.substr(at + 1, end - at - 1);
    at = end;
    const bool closed = tag.back() == '/';
    const bool closing = tag[0] == '/';
    const std::string name =
        tag.substr(closing ? 1 : 0, tag.find_first_of(" \n/", 1) - (closing ? 1 : 0));
    if (closed || name == "!DOCTYPE" || name == "meta") continue;
    if (!closing) {
      open.push_back(name);
      // Selectors in the style sheet contain these characters too.
      if (name == "style") at = html.find("</style>", at) - 1;
    } else if (open.empty() || open.back() != name) {
      return "/" + name + " ends " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " does not end";
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace evenkeel::cli
