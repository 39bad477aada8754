/// The one commit of a round of the manager. It becomes durable before the observer hears of it.
#pragma once

#include <functional>

#include "ensemble/manager/manager.h"
#include "ensemble/model/changes.h"
#include "ensemble/store/trial_book.h"
#include "ensemble/study/open_study.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

class RoundCommit {
 public:
  /// All arguments must outlive it.
  RoundCommit(const EnsembleOptions& options, TrialBook& book, const OpenStudy& study, EnsembleObserver& observer)
      : options_(options), book_(book), study_(study), observer_(observer) {}

  /// Writes the changes, removes the files of answered requests and notifies the observer. `meanwhile` runs while the
  /// disk writes; it does not run when `changes` is empty. If the commit fails, its effects must be harmless.
  /// Without changes, it updates the manager's last sign of life in the book every 5 s. The time of a killed manager
  /// counts up to that sign.
  /// Errors: what the book throws.
  void operator()(const Changes& changes, const std::function<void()>& meanwhile = {});

 private:
  void Write(const Changes& changes, const std::function<void()>& meanwhile);
  void GiveSign(double now);
  void Announce(const Changes& changes) const;

  const EnsembleOptions& options_;
  TrialBook& book_;
  const OpenStudy& study_;
  EnsembleObserver& observer_;
  double last_sign_ = 0;  // seconds since 1970
};

}  // namespace slipway::ensemble
