#include "ensemble/space/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace slipway::ensemble {
namespace {

constexpr std::array<std::string_view, 17> kSigns = {"**", "==", "!=", "<=", ">=", "<", ">", "+", "-",
                                                     "*",  "/",  "%",  "(",  ")",  "[", "]", ","};
/// Operators of other languages, and their equivalents here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kForeign = {
    {{"&&", "and"}, {"||", "or"}, {"!", "not"}, {"^", "**"}, {"=", "=="}}};
/// Python's words, and those of YAML and JSON.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords = {{{"and", "and"},
                                                                                   {"or", "or"},
                                                                                   {"not", "not"},
                                                                                   {"in", "in"},
                                                                                   {"true", "true"},
                                                                                   {"false", "false"},
                                                                                   {"null", "null"},
                                                                                   {"True", "true"},
                                                                                   {"False", "false"},
                                                                                   {"None", "null"}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Scanner {
 public:
  Scanner(std::string_view text, const std::function<void(std::size_t, std::string)>& refuse)
      : text_(text), refuse_(refuse) {}

  std::vector<Token> All() {
    std::vector<Token> tokens;
    for (SkipSpace(); place_ < text_.size(); SkipSpace()) tokens.push_back(Next());
    tokens.push_back({TokenKind::kEnd, "the end", 0, text_.size()});
    return tokens;
  }

 private:
  std::string_view Rest() const { return text_.substr(place_); }
  void SkipSpace() {
    while (place_ < text_.size() && IsSpace(text_[place_])) ++place_;
  }

  Token Next() {
    const char c = text_[place_];
    const bool begins_fraction = c == '.' && place_ + 1 < text_.size() && IsDigit(text_[place_ + 1]);
    if (IsDigit(c) || begins_fraction) return Number();
    if (IsLetter(c)) return NameOrWord();
    if (c == '\'' || c == '"') return Quoted(TokenKind::kText, "text");
    if (c == '`') return Quoted(TokenKind::kName, "name");
    return Sign();
  }

  Token Number() {
    Token token{TokenKind::kNumber, {}, 0, place_};
    const auto [end, error] = std::from_chars(text_.data() + place_, text_.data() + text_.size(), token.number);
    if (error != std::errc() || !std::isfinite(token.number)) refuse_(place_, "this number is too large or too small");
    place_ = static_cast<std::size_t>(end - text_.data());
    token.text = text_.substr(token.place, place_ - token.place);
    if (place_ < text_.size() && IsLetter(text_[place_])) refuse_(place_, "a number ends in a letter");
    return token;
  }

  Token NameOrWord() {
    const auto end =
        std::find_if_not(Rest().begin(), Rest().end(), [](char c) { return IsLetter(c) || IsDigit(c) || c == '.'; });
    const auto word = Rest().substr(0, static_cast<std::size_t>(end - Rest().begin()));
    const auto known = std::ranges::find(kWords, word, &std::pair<std::string_view, std::string_view>::first);
    const Token token = known != kWords.end() ? Token{TokenKind::kWord, std::string(known->second), 0, place_}
                                              : Token{TokenKind::kName, std::string(word), 0, place_};
    place_ += word.size();
    return token;
  }

  Token Quoted(TokenKind kind, std::string_view what) {
    const auto end = text_.find(text_[place_], place_ + 1);
    if (end == std::string_view::npos) refuse_(place_, fmt::format("the quote of this {} is not closed", what));
    Token token{kind, std::string(text_.substr(place_ + 1, end - place_ - 1)), 0, place_};
    place_ = end + 1;
    return token;
  }

  Token Sign() {
    for (const auto sign : kSigns) {
      if (!Rest().starts_with(sign)) continue;
      const Token token{TokenKind::kSign, std::string(sign), 0, place_};
      place_ += sign.size();
      return token;
    }
    for (const auto& [foreign, own] : kForeign) {
      if (Rest().starts_with(foreign))
        refuse_(place_, fmt::format("unknown sign '{}'; did you mean '{}'?", foreign, own));
    }
    refuse_(place_, "unknown sign");
    return {};
  }

  std::string_view text_;
  const std::function<void(std::size_t, std::string)>& refuse_;
  std::size_t place_ = 0;
};

}  // namespace

std::vector<Token> Tokens(std::string_view text, const std::function<void(std::size_t, std::string)>& refuse) {
  return Scanner(text, refuse).All();
}

}  // namespace slipway::ensemble
