#include "core/plain_metrics_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>
#include <utility>

#include "core/number_words.h"

namespace slipway {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }
/// In a name or word that says what it looks like.
bool IsPlain(char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; }

/// How many characters `text` begins with that all are `Is`.
template <bool Is(char)>
std::size_t LengthOf(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, Is) - text.begin());
}

/// Takes one line apart from left to right. Each part answers false, or nothing, when it is not plain.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : rest_(text) { line_.has_step = false; }

  std::optional<MetricsLine> Line() {
    const bool is_plain = Members([this](std::string_view name) { return Member(name); });
    return is_plain && AtEnd() && has_metrics_ ? std::optional(std::move(line_)) : std::nullopt;
  }

 private:
  void SkipSpace() { rest_.remove_prefix(LengthOf<IsSpace>(rest_)); }

  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }

  bool Take(std::string_view word) {
    const bool is_next = rest_.starts_with(word);
    if (is_next) rest_.remove_prefix(word.size());
    return is_next;
  }

  bool TakeSign(char sign) {
    SkipSpace();
    const bool is_next = !rest_.empty() && rest_.front() == sign;
    if (is_next) rest_.remove_prefix(1);
    return is_next;
  }

  /// An object; `take` takes the value of each member.
  template <class TakeValue>
  bool Members(TakeValue take) {
    if (!TakeSign('{')) return false;
    if (TakeSign('}')) return true;
    do {
      const auto name = Text();
      if (!name || !TakeSign(':')) return false;
      SkipSpace();
      if (!take(*name)) return false;
    } while (TakeSign(','));
    return TakeSign('}');
  }

  /// A text in quotes: ASCII without escapes.
  std::optional<std::string_view> Text() {
    if (!TakeSign('"')) return {};
    const auto text = rest_.substr(0, LengthOf<IsPlain>(rest_));
    rest_.remove_prefix(text.size());
    return Take("\"") ? std::optional(text) : std::nullopt;
  }

  bool Member(std::string_view name) {
    if (name == "metrics")
      return !std::exchange(has_metrics_, true) && Members([this](auto key) { return Metric(key); });
    if (name == "step") return !line_.has_step && Step();
    if (name == "epoch") return !std::exchange(has_epoch_, true) && NumberOrNull(line_.epoch);
    if (name == "time") return !std::exchange(has_time_, true) && NumberOrNull(line_.time);
    return false;
  }

  bool Step() {
    const auto number = Number();
    const auto step = number ? WholeStep(*number) : std::nullopt;
    constexpr double kExact = 0x1p53;  // larger ones may have lost digits
    if (!step || std::fabs(*number) > kExact) return false;
    line_.step = *step;
    line_.has_step = true;
    return true;
  }

  bool NumberOrNull(std::optional<double>& value) {
    if (Take("null")) return true;
    value = Number();
    return value.has_value();
  }

  bool Metric(std::string_view name) {
    const auto value = rest_.starts_with('"') ? Word() : Number();
    if (value) line_.values.insert_or_assign(std::string(name), *value);
    return value.has_value();
  }

  std::optional<double> Word() {
    const auto word = Text();
    return word ? NumberOfWord(*word) : std::nullopt;
  }

  std::optional<double> Number() {
    if (!LooksLikeNumber()) return {};
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return {};
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  /// What from_chars takes and JSON does not: "nan", ".5", "05", "5.".
  bool LooksLikeNumber() const {
    const auto digits = rest_.substr(rest_.starts_with('-') ? 1 : 0);
    const auto end = LengthOf<IsDigit>(digits);
    if (end == 0 || (end > 1 && digits.front() == '0')) return false;
    return end == digits.size() || digits[end] != '.' || (end + 1 < digits.size() && IsDigit(digits[end + 1]));
  }

  std::string_view rest_;
  MetricsLine line_;
  bool has_metrics_ = false;
  bool has_epoch_ = false;
  bool has_time_ = false;
};

}  // namespace

std::optional<MetricsLine> ParsePlainMetricsLine(std::string_view line) { return PlainReader(line).Line(); }

}  // namespace slipway
