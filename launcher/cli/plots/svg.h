/// An SVG document that stands alone: no script, no font, no external files. It is readable on light and dark
/// backgrounds, as the reader's system prefers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::launcher {

/// Escapes `text` for XML and HTML, in elements and quoted attributes. Characters that XML forbids (control characters,
/// broken UTF-8) become U+FFFD.
std::string EscapeXml(std::string_view text);

/// Pixels; y grows downwards.
struct Spot {
  double x = 0;
  double y = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

/// Shapes have one of the classes of the style sheet: "grid", "axis", "dot", "best", "line", "thread", "strong".
class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}

  void Line(std::string_view style, Spot from, Spot to);
  void Path(std::string_view style, const std::vector<Spot>& spots);
  /// `hint` is shown when the pointer rests there.
  void Dot(std::string_view style, Spot at, std::string_view hint);
  void Bar(std::string_view style, Spot corner, double width, double height);
  /// Shortened to some 40 characters.
  void Text(Spot at, Anchor anchor, std::string_view text);
  /// Rotated by 90 degrees: read from below.
  void TextUpwards(Spot at, std::string_view text);

  /// The whole document.
  std::string Finish(std::string_view title) const;

 private:
  double width_;
  double height_;
  std::string body_;
};

}  // namespace slipway::launcher
