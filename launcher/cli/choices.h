/// Checks of words. CLI11's own check names a set, and no valid value that is near.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "core/nearest_word.h"

namespace slipway::launcher {

/// The value must be one of `words`. Help shows them as {local,slurm}.
inline CLI::Validator OneOf(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    return fmt::format("unknown value '{}'{}", text, SuggestWord(text, words));
  };
  return {check, "{" + CLI::detail::join(words, ",") + "}"};
}

}  // namespace slipway::launcher
