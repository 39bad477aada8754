/// The tokens of an expression.
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

/// Splits the text into tokens; the last one is kEnd.
///   - Names: letters, digits, `_` and `.`, or anything between backquotes.
///   - Texts: in single or double quotes.
///   - Words: and, or, not, in, true, false, null, also as Python writes them.
/// Errors: calls `refuse` (place, reason), which does not return.
std::vector<Token> Tokens(std::string_view text, const std::function<void(std::size_t, std::string)>& refuse);

}  // namespace slipway::ensemble
