/// Why an ensemble ends before its trials are done.
#pragma once

#include <optional>

#include "ensemble/manager/manager.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

class EarlyEnd {
 public:
  /// `failed`: trials that have failed already. `options` must outlive it.
  EarlyEnd(const EnsembleOptions& options, int failed) : options_(options), failed_(failed) {}

  void TakeFailure() { ++failed_; }
  /// Anew, as a trial that had failed is run again.
  void CountFailures(int failed) { failed_ = failed; }
  void TakeInterrupt();
  /// Looks whether `max_failures` or the time, of which `seconds_left` are left, ends it.
  void Watch(double seconds_left);

  /// What running trials are told; nothing: go on. The first reason counts.
  const std::optional<StopReason>& reason() const { return reason_; }
  void Tell(EnsembleSummary& summary) const;

 private:
  void StopAll(StopReason reason);

  const EnsembleOptions& options_;
  int failed_;
  std::optional<StopReason> reason_;
  bool interrupted_ = false;
  bool too_many_failures_ = false;
  bool out_of_time_ = false;
};

}  // namespace slipway::ensemble
