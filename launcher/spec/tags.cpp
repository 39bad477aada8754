#include "launcher/spec/tags.h"

#include <fmt/format.h>

#include "launcher/spec/utf8.h"

namespace slipway::launcher {

bool IsTag(std::string_view text) {
  static constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  if (text.empty() || text.size() > kLongestTag || kFirst.find(text[0]) == std::string_view::npos) return false;
  return text.find_first_not_of(std::string(kFirst) + "._-:/=") == std::string_view::npos;
}

std::string DescribeTag() {
  return fmt::format("a tag has at most {} letters, digits and '._-:/=', and begins with a letter or digit",
                     kLongestTag);
}

std::string WhyNoDescription(std::string_view text) {
  if (text.size() > kLongestDescription) {
    return fmt::format("a description has at most {} bytes, this one has {}", kLongestDescription, text.size());
  }
  const auto fault = FindTextFault(text);
  return fault ? fmt::format("a description is text; this one holds {}", fault->reason) : std::string();
}

}  // namespace slipway::launcher
