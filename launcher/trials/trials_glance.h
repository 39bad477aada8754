/// A summary of an ensemble: the number of trials in each state, and the best trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "launcher/trials/trials_documents.h"

namespace slipway::launcher {

struct TrialsGlance {
  ensemble::StudyRecord study;
  std::vector<RankedTrial> trials;  ///< ranked first
};

/// Nothing before the ensemble has begun. Errors: those of a book that cannot be read.
std::optional<TrialsGlance> GlanceAtTrials(const std::filesystem::path& run_folder);

/// {"budget": 64, "counts": {"complete": 12, ...}, "best": {...}}; the best is null where no trial is complete. With
/// repeats `objective` is the mean of the best configuration, and `trial` its first complete one.
Json ToJson(const TrialsGlance& glance);
/// "  trials  12 complete, 2 running, of 64", and a line for the best.
std::string Describe(const TrialsGlance& glance);

}  // namespace slipway::launcher
