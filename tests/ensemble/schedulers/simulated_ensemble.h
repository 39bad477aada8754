/// An ensemble without processes: trials report and end in a random order, a scheduler decides.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "ensemble/search/numbers/draws.h"
#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {

struct Troubles {
  double fail = 0;               ///< probability that a running trial fails for good instead of reporting
  double interrupt = 0;          ///< ... is queued again, and repeats some of its resources
  double bad_value = 0;          ///< ... reports a value that is not finite
  bool is_slow_to_stop = false;  ///< a trial that was told to stop or pause may report more before it does
};

class SimulatedEnsemble {
 public:
  SimulatedEnsemble(SchedulerSettings settings, double length, Troubles troubles, std::uint64_t seed);

  /// Runs until nothing is left to do. Throws std::runtime_error when a scheduler that was restored on the way answers
  /// otherwise than the one that lived, when an unfinished trial is promoted, or when the ensemble does not end.
  void Run();

  const TrialTable& table() const { return table_; }
  int Count(TrialState state) const { return table_.Count(state); }
  /// How many trials entered each rung (bracket, rung), and how many were sent on from there.
  const std::map<std::pair<int, int>, int>& entered() const { return entered_; }
  const std::map<std::pair<int, int>, int>& sent_on() const { return sent_on_; }
  const std::map<TrialNumber, TrialNumber>& parents() const { return parents_; }

 private:
  struct Running {
    double resource = 0;
    std::optional<TrialState> told;  // what it will become when it obeys
  };

  /// The same question to every scheduler.
  template <class Question>
  auto Ask(const Question& question);
  bool Fill();
  bool ResumeQueued();
  bool Resume(std::optional<TrialNumber> trial);
  bool Begin();
  void Advance(TrialNumber trial);
  void Report(TrialNumber trial);
  void Obey(TrialNumber trial, const Judgement& judgement);
  void End(TrialNumber trial, TrialState state);
  void AddRestored();
  double ValueOf(TrialNumber trial, double resource);

  SchedulerSettings settings_;
  double length_;
  Troubles troubles_;
  Draws draws_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;  // the first one lives from the beginning
  ReportRows rows_;
  TrialTable table_;
  std::map<TrialNumber, Running> running_;
  std::set<TrialNumber> queued_;
  std::map<TrialNumber, double> reached_;  // resource of the newest checkpoint
  std::map<TrialNumber, std::pair<int, int>> at_rung_;
  std::map<std::pair<int, int>, int> entered_;
  std::map<std::pair<int, int>, int> sent_on_;
  std::map<TrialNumber, TrialNumber> parents_;
};

}  // namespace slipway::ensemble
