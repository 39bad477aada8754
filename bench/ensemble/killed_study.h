/// An ensemble whose manager, a process of its own, is killed and started again; and what must hold all the same.
#pragma once

#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bench/ensemble/kill_plan.h"
#include "core/process.h"
#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

/// Sentences about what must not be; empty: all is well.
using Violations = std::vector<std::string>;

class KilledStudy {
 public:
  /// `program`: that of manager_process.cpp. `folder` is created.
  KilledStudy(std::filesystem::path program, std::filesystem::path folder, KillPlan plan);

  /// Starts the manager and waits for its end. `crash_at`: SLIPWAY_CRASH_AT, or empty.
  ExitStatus Run(const std::string& crash_at = {});
  /// Starts the manager and kills it after `delay`, unless it has ended before.
  ExitStatus RunFor(std::chrono::nanoseconds delay);
  /// Asks for a trial while no manager is there, if the plan still has one and the budget room for it.
  void Enqueue();

  /// Whatever has happened so far: acknowledged results are in the book, no trial has come to its end twice, no two
  /// attempts of one met, the budget is kept, the database is sound.
  Violations Check() const;
  /// After an end that was no kill: every trial has its result, exactly once, and the right one; every request is
  /// answered.
  Violations CheckAtEnd() const;
  /// What differs from another study that is at its end: parameters, states, results, rungs.
  Violations Compare(const KilledStudy& other) const;

  /// How many results the managers have acknowledged.
  std::size_t Acknowledged() const;

 private:
  ChildProcess Start(const std::string& crash_at) const;
  std::vector<TrialRecord> Trials() const;

  std::filesystem::path program_;
  std::filesystem::path folder_;
  KillPlan plan_;
  int enqueued_ = 0;
};

}  // namespace slipway::ensemble
