#include "launcher/view/sums_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace {

/// "attempt-2/sums-00001.jsonl"
std::string ShortName(const std::filesystem::path& file) {
  return (file.parent_path().filename() / file.filename()).string();
}

}  // namespace

bool SumsStream::Next() {
  while (true) {
    std::string_view line;
    if (!fd_ || !NextLine(line)) {
      if (!OpenNext()) return false;
    } else if (TakeStep(line)) {
      return true;
    }
  }
}

/// A program that joins the job twice in one attempt writes a header again.
bool SumsStream::TakeHeader(std::string_view line) {
  auto header = ParseSumsHeader(line);
  if (!header) return false;
  header_ = std::move(*header);
  ++headers_;
  return true;
}

/// True when it is the next step.
bool SumsStream::TakeStep(std::string_view line) {
  const auto step = StepOfSumsLine(line);
  if (!step) {
    if (!TakeHeader(line)) ++odd_lines_;
    return false;
  }
  const bool is_first = !std::exchange(has_steps_, true);
  if (is_first && header_.resumed && *step == 0) {
    remarks_.push_back(fmt::format("{} is left out: it counts steps from 0 again, though it began from a checkpoint",
                                   ShortName(files_[opened_ - 1])));
    fd_.Reset();
    return false;
  }
  if (*step <= step_) return false;
  step_ = *step;
  line_ = line;
  return true;
}

/// False when there is none.
bool SumsStream::OpenNext() {
  if (opened_ == files_.size()) return false;
  const auto& file = files_[opened_++];
  lines_.Clear();
  has_steps_ = false;
  // Without O_NONBLOCK the open of a pipe waits for its writer.
  fd_ = UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string_view line;
  if (fd_ && !(NextLine(line) && TakeHeader(line))) {
    remarks_.push_back(fmt::format("{} is left out: its first line does not list the tensors", ShortName(file)));
    fd_.Reset();
  }
  return true;
}

/// A torn last line is none.
bool SumsStream::NextLine(std::string_view& line) {
  char buffer[1 << 14];
  while (!lines_.Next(line)) {
    if (lines_.overlong()) {
      ++odd_lines_;
      return false;
    }
    const auto count = ::read(fd_.get(), buffer, sizeof buffer);
    if (count <= 0) return false;
    lines_.Add({buffer, static_cast<std::size_t>(count)});
  }
  return true;
}

std::vector<std::string> SumsStream::Remarks() const {
  auto remarks = remarks_;
  if (odd_lines_ > 0 && opened_ > 0) {
    remarks.push_back(
        fmt::format("lines of {} that could not be read: {}", files_[opened_ - 1].filename().string(), odd_lines_));
  }
  return remarks;
}

}  // namespace slipway::launcher
