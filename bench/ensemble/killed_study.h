/// An ensemble whose manager is killed and restarted, with the invariants that must hold. The manager is a process of
/// its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "bench/ensemble/kill_plan.h"
#include "core/process.h"
#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

/// Descriptions of violated invariants; empty: all hold.
using Violations = std::vector<std::string>;

class KilledStudy {
 public:
  /// `program`: that of manager_process.cpp. `folder` is created.
  KilledStudy(std::filesystem::path program, std::filesystem::path folder, KillPlan plan);

  /// Starts the manager and waits for its end. `crash_at`: SLIPWAY_CRASH_AT, or empty.
  ExitStatus Run(const std::string& crash_at = {});
  /// Starts the manager and kills it after `delay`, unless it has ended before.
  ExitStatus RunFor(std::chrono::nanoseconds delay);
  /// Requests a trial while no manager runs, if the plan has one left and the budget allows it.
  void Enqueue();

  /// What must hold at any time. Acknowledged results are in the book. No trial ended twice. No two attempts of one
  /// trial overlapped. The budget is kept and the database is sound.
  Violations Check() const;
  /// What must hold after an end without a kill. Every trial has its correct result exactly once. Every request is
  /// answered.
  Violations CheckAtEnd() const;
  /// Differences from another finished study: parameters, states, results, rungs.
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
