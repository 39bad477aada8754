#include "launcher/cli/plots/svg.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kLongestText = 40;

constexpr auto kStyle =
    "svg{color-scheme:light dark;background:#fff;font:13px system-ui,sans-serif}"
    "text{fill:#222}.grid{stroke:#ddd}.axis{stroke:#888}.dot{fill:#7d93ab}.best{fill:#c2410c}"
    ".line{stroke:#c2410c;stroke-width:2;fill:none}.thread{stroke:#7d93ab;opacity:.35;fill:none}"
    ".strong{stroke:#c2410c;stroke-width:1.5;opacity:.9;fill:none}.bar{fill:#4a7ab0}"
    "@media(prefers-color-scheme:dark){svg{background:#161b22}text{fill:#e6e6e6}.grid{stroke:#30363d}"
    ".dot{fill:#8fa6bf}.best{fill:#ff9d5c}.line,.strong{stroke:#ff9d5c}.thread{stroke:#8fa6bf}.bar{fill:#6ea8e8}}";

/// Broken bytes are replaced.
std::string ValidUtf8(std::string_view text) {
  const auto quoted = Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Never half a character.
std::string Shortened(std::string_view text) {
  const auto valid = ValidUtf8(text);
  std::size_t characters = 0;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (IsContinuation(valid[i])) continue;
    if (++characters > kLongestText) return valid.substr(0, i) + "…";
  }
  return valid;
}

std::string_view WordFor(Anchor anchor) {
  if (anchor == Anchor::kMiddle) return "middle";
  return anchor == Anchor::kEnd ? "end" : "start";
}

}  // namespace

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : ValidUtf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += byte < 0x20 || byte == 0x7f ? std::string("\xef\xbf\xbd") : std::string(1, c);
    }
  }
  return escaped;
}

void Svg::Line(std::string_view style, Spot from, Spot to) {
  body_ += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", style, from.x,
                       from.y, to.x, to.y);
}

void Svg::Path(std::string_view style, const std::vector<Spot>& spots) {
  if (spots.size() < 2) return;
  body_ += fmt::format("<polyline class=\"{}\" points=\"", style);
  for (const auto& spot : spots) body_ += fmt::format("{:.1f},{:.1f} ", spot.x, spot.y);
  body_.back() = '"';
  body_ += "/>\n";
}

void Svg::Dot(std::string_view style, Spot at, std::string_view hint) {
  body_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}</title></circle>\n", style,
                       at.x, at.y, EscapeXml(hint));
}

void Svg::Bar(std::string_view style, Spot corner, double width, double height) {
  body_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", style,
                       corner.x, corner.y, width, height);
}

void Svg::Text(Spot at, Anchor anchor, std::string_view text) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at.x, at.y, WordFor(anchor),
                       EscapeXml(Shortened(text)));
}

void Svg::TextUpwards(Spot at, std::string_view text) {
  body_ += fmt::format(
      "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 {0:.1f} "
      "{1:.1f})\">{2}</text>\n",
      at.x, at.y, EscapeXml(Shortened(text)));
}

std::string Svg::Finish(std::string_view title) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n{4}</svg>\n",
      width_, height_, EscapeXml(title), kStyle, body_);
}

}  // namespace slipway::launcher
