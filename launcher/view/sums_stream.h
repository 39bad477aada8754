/// Reads the check sums of one rank and team, line by line, over all attempts of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lines.h"
#include "core/sums_line.h"
#include "core/unique_handle.h"

namespace slipway::launcher {

/// A file with a longer line ends there.
inline constexpr std::size_t kLongestSumsLine = std::size_t{16} << 20;

/// A step that a later attempt repeats is given once. Lines that are no check sums are left out. An attempt that counts
/// its steps from 0 although it began from a checkpoint is left out.
///
/// Memory: one line.
class SumsStream {
 public:
  /// One file for each attempt, in their order. Files may be missing.
  explicit SumsStream(std::vector<std::filesystem::path> files) : files_(std::move(files)) {}

  /// The next line with a higher step than all before; false at the end.
  bool Next();

  std::int64_t step() const { return step_; }
  std::string_view line() const { return line_; }       ///< until the next Next()
  const SumsHeader& header() const { return header_; }  ///< of the team as it was when the line was written
  int headers() const { return headers_; }              ///< grows whenever header() may be another one

  /// What was left out, one sentence each.
  std::vector<std::string> Remarks() const;

 private:
  bool OpenNext();
  bool NextLine(std::string_view& line);
  bool TakeHeader(std::string_view line);
  bool TakeStep(std::string_view line);

  std::vector<std::filesystem::path> files_;
  std::size_t opened_ = 0;  ///< of the files
  UniqueFd fd_;
  LineBuffer lines_{kLongestSumsLine};
  bool has_steps_ = false;  ///< the present file gave one, also if it was left out
  std::int64_t step_ = -1;
  std::string_view line_;
  SumsHeader header_;
  int headers_ = 0;
  int odd_lines_ = 0;
  std::vector<std::string> remarks_;
};

}  // namespace slipway::launcher
