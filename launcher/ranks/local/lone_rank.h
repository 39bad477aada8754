/// A job of a single rank, started by a supervisor. Thousands of trials run this way.
#pragma once

#include <functional>
#include <optional>

#include "launcher/ranks/local/ranks.h"
#include "launcher/ranks/local/supervisor.h"

namespace slipway::launcher {

class LoneRank final : public Ranks {
 public:
  /// `launch.supervisor` starts it. Otherwise as StartRanks.
  LoneRank(EventLoop& loop, RankLaunch launch, std::function<void(const GroupOutcome&)> ended);
  LoneRank(const LoneRank&) = delete;
  LoneRank& operator=(const LoneRank&) = delete;
  ~LoneRank() override;

  /// The supervisor; the program never outlives it.
  ProcessIdentity leader() const override { return program_.supervisor; }
  void Release() override;
  void Signal(int number) override;
  void ExpectEnd() override {}
  void Stop() override;

 private:
  void End(const SupervisedEnd& end);
  GroupOutcome OutcomeOf(const SupervisedEnd& end) const;

  EventLoop& loop_;
  RankLaunch launch_;
  std::function<void(const GroupOutcome&)> ended_;
  SupervisedProgram program_;
  std::optional<EventLoop::TimerId> kill_timer_;
  bool running_ = true;
  bool released_ = false;
  bool stopped_ = false;
};

}  // namespace slipway::launcher
