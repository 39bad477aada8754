/// The progress line of a stage-out: files are compared, copied, and read back.
#pragma once

#include <optional>
#include <string_view>

#include "core/progress.h"
#include "staging/out/stage_out.h"

namespace slipway::launcher {

class OutProgressLine {
 public:
  explicit OutProgressLine(Output& output) : output_(output) {}

  void Update(const staging::OutProgress& now) {
    if (!progress_ || now.phase != phase_ || now.total != total_) {
      phase_ = now.phase;
      total_ = now.total;
      progress_.emplace(output_, std::string(NameOf(phase_)), total_);
    }
    progress_->Update(now.done, now.current);
  }

 private:
  static std::string_view NameOf(staging::OutPhase phase) {
    switch (phase) {
      case staging::OutPhase::kCompare: return "comparing";
      case staging::OutPhase::kCopy: return "copying out";
      case staging::OutPhase::kConfirm: break;
    }
    return "confirming";
  }

  Output& output_;
  staging::OutPhase phase_ = staging::OutPhase::kCopy;
  Bytes total_;
  std::optional<Progress> progress_;
};

}  // namespace slipway::launcher
