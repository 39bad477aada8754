/// The one commit of a round of the manager: durable first, then told.
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
  /// All must outlive it.
  RoundCommit(const EnsembleOptions& options, TrialBook& book, const OpenStudy& study, EnsembleObserver& observer)
      : options_(options), book_(book), study_(study), observer_(observer) {}

  /// Writes the changes, takes answered requests away and tells the observer. `meanwhile` runs while the disk is at
  /// work, and not at all where nothing is changed; what it does must not matter to anybody when the commit fails.
  /// Where nothing is changed for long the manager's last sign is brought up to date, by which its time counts.
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
