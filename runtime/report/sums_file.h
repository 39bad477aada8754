/// sums-RANK.jsonl: check sums of gradients, one line a step (core/sums_line.h).
#pragma once

#include <filesystem>
#include <string>

#include "core/sums_line.h"
#include "core/unique_handle.h"

namespace slipway::runtime {

/// A file that cannot be written must not end the training. The first failure is printed on stderr. After it nothing
/// more is written.
class SumsFile {
 public:
  /// The file is made with the first line of a step.
  SumsFile(std::filesystem::path path, SumsHeader header) : path_(std::move(path)), header_(std::move(header)) {}

  const SumsHeader& header() const { return header_; }
  bool failed() const { return failed_; }
  /// Appends with one write, so that a sudden end leaves at most one torn line, the last.
  void Append(const SumsLine& line);

 private:
  std::filesystem::path path_;
  SumsHeader header_;
  UniqueFd fd_;
  bool failed_ = false;
};

}  // namespace slipway::runtime
