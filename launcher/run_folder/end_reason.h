/// Why a run ended, in words for its user. No code decides by these words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "launcher/run_folder/end_cause.h"

namespace slipway::launcher {

/// One line; empty for a run that is complete. `run` is the id that commands name.
std::string ReasonFor(const EndCause& ended, std::string_view run);

/// "2 queued, 3 not begun": only what there is.
std::string ListCounts(std::initializer_list<std::pair<std::int64_t, std::string_view>> counts);

/// The options that give an ensemble more time. The time limit starts again with each resume, a budget does not. Empty
/// where no budget is set.
std::string SetMoreTime(const cause::OutOfTime& out);

}  // namespace slipway::launcher
