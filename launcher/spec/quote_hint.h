/// Advice for text without quotes that YAML has taken for a list or a map: {name}, [a]b, a${b}.
#pragma once

#include <string>

#include "launcher/spec/source.h"

namespace slipway::launcher {

/// Inside of brackets, ',' and a closing bracket end a text.
enum class TextIn { kLine, kBrackets };

/// What to write instead; empty: quotes would not help. The parser gave up at `place`. Pure.
std::string QuoteHint(const SourceText& text, const Place& place, TextIn in);

}  // namespace slipway::launcher
