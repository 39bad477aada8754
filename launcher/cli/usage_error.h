/// The words for command lines that the parser refuses. CLI11's own name its types, and no next step.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace slipway::launcher {

/// `app` has parsed `words`, the command line, up to `error`.
Error UsageError(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words);

}  // namespace slipway::launcher
