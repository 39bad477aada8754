/// Ask and tell as lines of JSON: one request a line, one answer a line. See docs/reference/ask-and-tell.md.
#pragma once

#include <string_view>

#include "core/json.h"
#include "ensemble/manager/ask_tell.h"

namespace slipway::ensemble {

/// The longest request that is read.
inline constexpr std::size_t kLongestRequestBytes = 1 << 20;

/// Carries out one request and returns its answer. An invalid request changes nothing; its answer is
/// {"error": ..., "next_step": ...}.
/// Errors: those that end the session.
Json Answer(AskTell& session, std::string_view line);

Json ToJson(const std::variant<AskedTrial, NothingToRun>& asked);
Json ToJson(const TrialRecord& told, const EnsembleOptions& options);

}  // namespace slipway::ensemble
