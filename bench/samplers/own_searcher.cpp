#include <ctime>

#include "bench/samplers/searcher.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/units.h"
#include "ensemble/model/trial_table.h"
#include "ensemble/samplers/sampler.h"

namespace slipway::bench {
namespace {

double ThreadCpuSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class OwnSearcher : public Searcher {
 public:
  explicit OwnSearcher(const Task& task) : sampler_(ensemble::MakeSampler(SettingsOf(task), task.space)) {}

  Asked Ask() override {
    const auto started = SystemClock().Steady();
    const double cpu = ThreadCpuSeconds();
    auto point = sampler_->Ask(table_.size(), table_);
    Asked asked{{}, Seconds(SystemClock().Steady() - started).count(), ThreadCpuSeconds() - cpu};
    if (!point)
      throw Error(ErrorKind::kFailed, "the sampler has no point left",
                  "choose a sampler that does not run out of points");
    asked.point = std::move(*point);
    Add(asked.point);
    return asked;
  }

  void Tell(ensemble::TrialNumber trial, double value) override {
    table_.Edit(trial).state = ensemble::TrialState::kComplete;
    table_.Edit(trial).objective = value;
  }

 private:
  static ensemble::SamplerSettings SettingsOf(const Task& task) {
    ensemble::SamplerSettings settings;
    settings.name = task.sampler;
    settings.seed = task.seed;
    settings.trials = task.evaluations;
    settings.goal = ensemble::Goal::kMinimize;
    return settings;
  }

  void Add(const ensemble::Point& point) {
    ensemble::TrialRecord trial;
    trial.number = table_.size();
    trial.state = ensemble::TrialState::kRunning;
    trial.parameters = point;
    trial.origin = sampler_->Origin();
    trial.configuration = ensemble::ConfigurationHash(point);
    table_.Add(std::move(trial));
  }

  std::unique_ptr<ensemble::Sampler> sampler_;
  ensemble::TrialTable table_;
};

}  // namespace

std::unique_ptr<Searcher> MakeOwnSearcher(const Task& task) { return std::make_unique<OwnSearcher>(task); }

}  // namespace slipway::bench
