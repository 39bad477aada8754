#include "bench/schedulers/replay.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace slipway::bench {
namespace {

using ensemble::Decision;
using ensemble::TrialNumber;
using ensemble::TrialState;

class ReplayedEnsemble {
 public:
  ReplayedEnsemble(const ensemble::SchedulerSettings& settings, std::span<const RecordedCurve* const> curves)
      : settings_(settings), curves_(curves), scheduler_(MakeScheduler(settings)), reached_(curves.size()) {}

  ReplayResult Run() {
    while (Fill()) {
      const auto running = running_;
      for (const auto trial : running) Advance(trial);
    }
    return result_;
  }

 private:
  /// False: nothing is left to run.
  bool Fill() {
    while (static_cast<int>(running_.size()) < settings_.parallel && (Resume(scheduler_->Promote()) || Begin())) {
    }
    while (static_cast<int>(running_.size()) < settings_.parallel && Resume(scheduler_->Finish(table_))) {
    }
    return !running_.empty();
  }

  bool Resume(std::optional<TrialNumber> trial) {
    if (!trial) return false;
    table_.Edit(*trial).state = TrialState::kRunning;
    running_.push_back(*trial);
    return true;
  }

  bool Begin() {
    if (table_.size() == std::ssize(curves_) || !scheduler_->MayBegin(table_.size())) return false;
    ensemble::TrialRecord record;
    record.number = table_.size();
    table_.Add(std::move(record));
    return Resume(table_.size() - 1);
  }

  void Advance(TrialNumber trial) {
    const auto& curve = *curves_[static_cast<std::size_t>(trial)];
    auto& epoch = reached_[static_cast<std::size_t>(trial)];
    const double value = curve[epoch++];
    ++result_.epochs;
    const auto judgement = scheduler_->Take({trial, static_cast<double>(epoch), value});
    if (epoch == curve.size()) {
      Complete(trial, value);
    } else if (judgement.decision != Decision::kContinue) {
      End(trial, judgement.decision == Decision::kPause ? TrialState::kPaused : TrialState::kPruned);
    }
  }

  void Complete(TrialNumber trial, double value) {
    if (!std::isfinite(value)) return End(trial, TrialState::kFailed);
    if (result_.complete++ == 0) result_.epochs_to_first = result_.epochs;
    result_.best = std::min(result_.best.value_or(value), value);
    End(trial, TrialState::kComplete);
  }

  void End(TrialNumber trial, TrialState state) {
    std::erase(running_, trial);
    table_.Edit(trial).state = state;
    scheduler_->End(trial, state);
  }

  const ensemble::SchedulerSettings& settings_;
  std::span<const RecordedCurve* const> curves_;
  std::unique_ptr<ensemble::Scheduler> scheduler_;
  ensemble::TrialTable table_;
  std::vector<TrialNumber> running_;
  std::vector<std::size_t> reached_;
  ReplayResult result_;
};

}  // namespace

ReplayResult Replay(const ensemble::SchedulerSettings& settings, std::span<const RecordedCurve* const> curves) {
  return ReplayedEnsemble(settings, curves).Run();
}

}  // namespace slipway::bench
