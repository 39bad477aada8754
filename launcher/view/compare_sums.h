/// Where the gradients of two runs part, by the check sums that their ranks wrote (`trace.sums`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/words.h"

namespace slipway::launcher {

/// What differs first. The words stand in `slipway.compare/1`.
enum class PartingOf {
  kGradient,  ///< a rank's own gradient, before the exchange
  kExchange   ///< the result of the exchange, of equal gradients
};
WordTable<PartingOf> WordsOf(PartingOf);

struct SumsParting {
  std::int64_t step = 0;                    ///< exchanges of the team before it
  std::optional<std::int64_t> same_before;  ///< the last compared step before it
  PartingOf of = PartingOf::kGradient;
  std::string team;
  int tensor = 0;  ///< in the order of registration, from 0
  std::string name;
  std::uint64_t bytes = 0;
  std::vector<int> ranks;  ///< where it differs, ascending
  int ranks_compared = 0;  ///< at this step
  int ranks_of_job = 0;
};

struct SumsOfPair {
  std::uint64_t steps = 0;  ///< compared, on the rank and team that has most of them
  int ranks = 0;            ///< compared
  int teams = 0;            ///< the same
  std::optional<SumsParting> parting;
  std::vector<std::string> remarks;  ///< what could not be compared, and why
};

struct RunWithSums {
  std::string name;
  std::vector<std::filesystem::path> attempts;  ///< their folders, in their order
};

/// The first step at which any rank differs; there, the first tensor. Gradients come before results: what was exchanged
/// differs, too, once a gradient does. Nothing when neither run has check sums.
///
/// Cost:   reads the files of both runs up to the first difference, twice.
/// Memory: one line of each of two files.
std::optional<SumsOfPair> CompareSums(const RunWithSums& first, const RunWithSums& other);

/// Lines for a terminal, indented.
std::string Describe(const SumsOfPair& sums);

}  // namespace slipway::launcher
