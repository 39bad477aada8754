/// The words and signs of an expression.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::ensemble {

enum class TokenKind { kNumber, kText, kName, kWord, kSign, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;       ///< of a text without its quotes; of kEnd "the end"
  double number = 0;      ///< of kNumber
  std::size_t place = 0;  ///< of its first character, from 0
};

/// Splits the text; the last token is kEnd. Names are letters, digits, `_` and `.`, or anything between backquotes;
/// texts stand in single or double quotes; words are and, or, not, in, true, false, null (also as Python writes them).
/// Errors: calls `refuse` (place, reason), which does not return.
std::vector<Token> Tokens(std::string_view text, const std::function<void(std::size_t, std::string)>& refuse);

}  // namespace slipway::ensemble
