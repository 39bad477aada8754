#include "ensemble/manager/early_end.h"

namespace slipway::ensemble {

void EarlyEnd::TakeInterrupt() {
  interrupted_ = true;
  StopAll(StopReason::kCancelled);
}

void EarlyEnd::Watch(double seconds_left) {
  if (options_.max_failures && failed_ > *options_.max_failures) {
    too_many_failures_ = true;
    StopAll(StopReason::kCancelled);
  }
  if (!reason_ && seconds_left <= 0) {
    out_of_time_ = true;
    StopAll(StopReason::kTimeLimit);
  }
}

void EarlyEnd::Tell(EnsembleSummary& summary) const {
  summary.interrupted = interrupted_;
  summary.too_many_failures = too_many_failures_;
  summary.out_of_time = out_of_time_;
}

void EarlyEnd::StopAll(StopReason reason) {
  if (!reason_) reason_ = reason;
}

}  // namespace slipway::ensemble
