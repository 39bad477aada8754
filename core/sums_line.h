/// Lines of sums-RANK.jsonl: check sums of the gradients of one team on one rank. They show where two runs part.
///
/// The first line describes the team (schema slipway.sums/1). Every other line is one step, at most 38 bytes for each
/// tensor and 60 more:
/// {"step":40,"gradients":["0123456789abcdef",...],"exchanged":["0123456789abcdef",...]|null}
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

struct SumsTensor {
  std::string name;
  std::string dtype;
  std::uint64_t bytes = 0;
  bool operator==(const SumsTensor&) const = default;
};

struct SumsHeader {
  std::string team;
  int rank = 0;
  int ranks = 1;
  int every = 0;                    ///< steps between lines
  bool resumed = false;             ///< the program began from a checkpoint
  std::vector<SumsTensor> tensors;  ///< in the order of registration
};

/// Check sums by tensor.
struct SumsLine {
  std::int64_t step = 0;  ///< exchanges of the team before this one
  std::vector<std::uint64_t> gradients;
  std::optional<std::vector<std::uint64_t>> exchanged = {};  ///< nothing: this step gave no result of its own
};

/// Which file a line stands in. `team`: 1 for the first team that a program registers.
struct SumsFileId {
  int team = 1;
  int rank = 0;
  auto operator<=>(const SumsFileId&) const = default;
};

/// "sums-00007.jsonl" of the first team, "sums-00007-team2.jsonl" of the second.
std::string SumsFileName(const SumsFileId& id);
/// Nothing for the name of another file.
std::optional<SumsFileId> ParseSumsFileName(std::string_view name);

/// With their newline.
std::string FormatSumsHeader(const SumsHeader& header);
std::string FormatSumsLine(const SumsLine& line);

/// Nothing for a line that is not of this form, such as a torn one or foreign text.
std::optional<SumsHeader> ParseSumsHeader(std::string_view line);
std::optional<SumsLine> ParseSumsLine(std::string_view line);
/// The step of a line that looks whole; the check sums are not read.
std::optional<std::int64_t> StepOfSumsLine(std::string_view line);

}  // namespace slipway
