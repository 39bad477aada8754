/// Ask and tell as lines of JSON: one request a line, one answer a line. docs/reference/ask-and-tell.md.
#pragma once

#include <string_view>

#include "core/json.h"
#include "ensemble/manager/ask_tell.h"

namespace slipway::ensemble {

/// The longest request that is looked at.
inline constexpr std::size_t kLongestRequestBytes = 1 << 20;

/// Carries one request out and returns its answer. What is wrong with the request is an answer, too:
/// {"error": ..., "next_step": ...}, and nothing has changed then.
/// Errors: those after which the session is over.
Json Answer(AskTell& session, std::string_view line);

Json ToJson(const std::variant<AskedTrial, NothingToRun>& asked);
Json ToJson(const TrialRecord& told, const EnsembleOptions& options);

}  // namespace slipway::ensemble
