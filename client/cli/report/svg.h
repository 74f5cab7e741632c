// Scalable drawings as text, for self-contained pages.
#ifndef EVENKEEL_CLIENT_CLI_REPORT_SVG_H_
#define EVENKEEL_CLIENT_CLI_REPORT_SVG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenkeel::cli {

// Escapes text and attributes for HTML and SVG.
std::string Escaped(std::string_view text);

// A drawing of `width` x `height` units. The page's style defines how the classes look.
class Svg {
 public:
  using Points = std::vector<std::pair<double, double>>;

  // `title` describes the drawing for those who cannot see it.
  Svg(double width, double height, const std::string& title);

  void Line(const std::string& style, double x1, double y1, double x2, double y2);
  // Draws a box. `hint` is shown when a pointer is over the box; it may be empty.
  void Box(const std::string& style, double x, double y, double width, double height,
           const std::string& hint = "");
  void Dot(const std::string& style, double x, double y, double radius);
  void Path(const std::string& style, const Points& points);
  void Area(const std::string& style, const Points& points);  // a closed shape
  // Draws text. `anchor` is "start", "middle" or "end".
  void Text(const std::string& style, double x, double y, const std::string& anchor,
            const std::string& text);

  std::string Finish() const { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

// Returns about `count` round values, from the first at or below `low` to the first at or above
// `high`.
std::vector<double> RoundTicks(double low, double high, int count);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_REPORT_SVG_H_
