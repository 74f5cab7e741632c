#include "client/cli/report/svg.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "server/base/visible_text.h"

namespace evenkeel::cli {
namespace {

// Writes a coordinate with no more digits than are visible.
std::string Place(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text;
}

std::string PathText(const Svg::Points& points) {
  std::string text;
  for (const auto& [x, y] : points) {
    text += (text.empty() ? "M" : "L") + Place(x) + " " + Place(y);
  }
  return text;
}

}  // namespace

std::string Escaped(std::string_view text) {
  return absl::StrReplaceAll(server::Visible(text, "\n"),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

Svg::Svg(double width, double height, const std::string& title)
    : text_(fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" "
                        "xmlns=\"http://www.w3.org/2000/svg\"><title>{}</title>\n",
                        Place(width), Place(height), Escaped(title))) {}

void Svg::Line(const std::string& style, double x1, double y1, double x2, double y2) {
  text_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", style,
                       Place(x1), Place(y1), Place(x2), Place(y2));
}

void Svg::Box(const std::string& style, double x, double y, double width, double height,
              const std::string& hint) {
  text_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", style,
                       Place(x), Place(y), Place(width), Place(height));
  text_ += hint.empty() ? "/>\n" : "><title>" + Escaped(hint) + "</title></rect>\n";
}

void Svg::Dot(const std::string& style, double x, double y, double radius) {
  text_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", style, Place(x),
                       Place(y), Place(radius));
}

void Svg::Path(const std::string& style, const Points& points) {
  text_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, PathText(points));
}

void Svg::Area(const std::string& style, const Points& points) {
  text_ += fmt::format("<path class=\"{}\" d=\"{}Z\"/>\n", style, PathText(points));
}

void Svg::Text(const std::string& style, double x, double y, const std::string& anchor,
               const std::string& text) {
  text_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", style,
                       Place(x), Place(y), anchor, Escaped(text));
}

std::vector<double> RoundTicks(double low, double high, int count) {
  if (!(high > low)) high = low + 1;
  const double raw = (high - low) / count;
  double step = 1;
  while (step > raw) step /= 10;
  while (step * 10 <= raw) step *= 10;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (step < raw && step * factor >= raw) {
      step *= factor;
      break;
    }
  }
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace evenkeel::cli
