/// A regular expression that finds metrics in the output of an unchanged program.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::launcher {

/// Whether a pattern compiles, and which groups it names.
struct PatternInfo {
  std::string error;       ///< empty when the pattern compiles
  std::size_t offset = 0;  ///< of the error, in bytes
  std::vector<std::string> names;
};
PatternInfo InspectPattern(const std::string& pattern);

/// The whole text as a number, "nan" and "inf" included; nothing when it is no number.
std::optional<double> NumberIn(const std::string& text);

/// A PCRE2 pattern with UTF-8 and named groups; each group's name is a metric. The cost of matching is limited for
/// every pattern and line.
class Pattern {
 public:
  /// Errors: Error(kUsage) with the position in the pattern.
  explicit Pattern(const std::string& pattern);
  Pattern(Pattern&&) noexcept;
  ~Pattern();

  /// Name -> text of every named group that took part; nothing when the line does not match.
  std::optional<std::map<std::string, std::string>> Groups(std::string_view line) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace slipway::launcher
