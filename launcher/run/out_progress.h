/// The progress line of what is copied out: first copied, then read back.
#pragma once

#include <optional>

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
      progress_.emplace(output_, phase_ == staging::OutPhase::kCopy ? "copying out" : "confirming", total_);
    }
    progress_->Update(now.done, now.current);
  }

 private:
  Output& output_;
  staging::OutPhase phase_ = staging::OutPhase::kCopy;
  Bytes total_;
  std::optional<Progress> progress_;
};

}  // namespace slipway::launcher
