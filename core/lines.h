/// Messages of helper processes: lines of words, such as "exited 0 9", over a stream that may be cut anywhere.
///
/// Needs nothing but the language: the static helpers of the launcher use it, too. No exceptions, no JSON.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace slipway {

/// Gives out the whole lines of a stream that comes in pieces of any size.
class LineBuffer {
 public:
  /// A line of more bytes than `longest` ends the stream: overlong().
  explicit LineBuffer(std::size_t longest = std::size_t{1} << 20) : longest_(longest) {}

  void Add(std::string_view bytes) { bytes_.append(bytes); }

  /// The next line, without its end; false when it is not there yet. `line` stays valid until the next call.
  bool Next(std::string_view& line) {
    bytes_.erase(0, taken_);
    taken_ = 0;
    const auto end = bytes_.find('\n', searched_);
    searched_ = end == std::string::npos ? bytes_.size() : 0;
    overlong_ = overlong_ || (end == std::string::npos ? bytes_.size() : end) > longest_;
    if (overlong_ || end == std::string::npos) return false;
    line = std::string_view(bytes_).substr(0, end);
    taken_ = end + 1;
    return true;
  }

  bool overlong() const { return overlong_; }
  void Clear() { *this = LineBuffer(longest_); }

 private:
  std::size_t longest_;
  std::string bytes_;
  std::size_t taken_ = 0;     ///< of `bytes_`, by the last line
  std::size_t searched_ = 0;  ///< of `bytes_`, without an end of line
  bool overlong_ = false;
};

/// What `text` says as a whole; false when it is no number or does not fit, and `value` stays. No sign '+', no blanks,
/// no "0x". `base` is that of whole numbers; others may be "inf" and "nan".
template <class Number>
bool ParseNumber(std::string_view text, Number& value, int base = 10) {
  static_assert(std::is_arithmetic_v<Number>);
  Number read{};
  std::from_chars_result result{};
  if constexpr (std::is_integral_v<Number>) {
    result = std::from_chars(text.data(), text.data() + text.size(), read, base);
  } else {
    result = std::from_chars(text.data(), text.data() + text.size(), read);
  }
  const bool whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
  if (whole) value = read;
  return whole;
}
/// The same, as a value.
template <class Number>
std::optional<Number> ParseNumber(std::string_view text, int base = 10) {
  Number value{};
  return ParseNumber(text, value, base) ? std::optional(value) : std::nullopt;
}

/// Takes a line apart, word by word. Once a word is missing or is no number, good() is false for good.
class LineWords {
 public:
  explicit LineWords(std::string_view line) : rest_(line) {}

  /// Up to the next `end`; empty when nothing is left.
  std::string_view Word(char end = ' ') {
    good_ = good_ && !rest_.empty();
    const auto at = rest_.find(end);
    const std::string_view word(rest_.data(), at == rest_.npos ? rest_.size() : at);  // substr() may throw
    rest_.remove_prefix(at == rest_.npos ? rest_.size() : at + 1);
    return word;
  }

  /// The next word as a number. `value` stays unchanged when the word is missing, is not a number, or does not fit.
  template <class Number>
  void Read(Number& value, int base = 10, char end = ' ') {
    const auto word = Word(end);
    good_ = good_ && ParseNumber(word, value, base);
  }
  /// The same; 0 when the word is missing.
  template <class Number>
  Number Take(int base = 10, char end = ' ') {
    Number value{};
    Read(value, base, end);
    return value;
  }

  std::string_view rest() const { return rest_; }
  bool good() const { return good_; }
  /// Everything was there, and no more.
  bool AtEnd() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace slipway
