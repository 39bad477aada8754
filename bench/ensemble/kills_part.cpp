#include <fmt/format.h>
#include <signal.h>

#include <map>
#include <random>

#include "bench/ensemble/killed_study.h"
#include "bench/ensemble/parts.h"
#include "core/error.h"
#include "core/install.h"
#include "ensemble/manager/crash_point.h"

namespace slipway::bench {
namespace {

using ensemble::KilledStudy;
using ensemble::KillPlan;
using ensemble::Violations;

const std::vector<KillPlan>& Plans() {
  static const std::vector<KillPlan> plans = {
      {.name = "random, 3 at a time", .trials = 60, .parallel = 3, .enqueued = 5},
      {.name = "asha, 3 at a time", .trials = 30, .parallel = 3, .scheduler = "asha", .steps = 9, .enqueued = 5},
      {.name = "tpe, one at a time", .trials = 40, .sampler = "tpe", .stubborn = false},
      {.name = "asha, one at a time", .trials = 20, .scheduler = "asha", .steps = 9, .stubborn = false}};
  return plans;
}

/// Studies of all plans in turn, each killed at the next place or at a random moment, in turn, until it is over.
class Campaign {
 public:
  explicit Campaign(const PartOptions& options) : options_(options), random_(options.seed) {}

  void Run() {
    for (std::size_t study = 0; kills_ < options_.rounds; ++study) {
      RunStudy(Plans()[study % Plans().size()], options_.folder / std::to_string(study));
    }
  }

  std::vector<Figure> Figures() const {
    const auto count = [&](const char* what, double value) { return Figure{"kills", what, value, ""}; };
    auto kills = count("kills of the manager", kills_);
    kills.beside.push_back({"at random moments", static_cast<double>(at_random_), false});
    for (const auto& [place, times] : at_place_) kills.beside.push_back({place, static_cast<double>(times), false});
    auto violations = count("results lost, trials run twice, other violations", violations_);
    violations.goal = "0";
    violations.reached = violations_ == 0;
    return {kills, count("studies, each with its exact budget", studies_),
            count("of them equal to one that was left alone", compared_),
            count("acknowledged results", static_cast<double>(acknowledged_)), violations};
  }

 private:
  void RunStudy(const KillPlan& plan, const std::filesystem::path& folder) {
    const auto program = HelperProgram("bench-support/ensemble_manager");
    KilledStudy study(program, folder / "killed", plan);
    while (!KillOnce(study)) Take(study.Check(), plan);
    Take(study.CheckAtEnd(), plan);
    ++studies_;
    acknowledged_ += study.Acknowledged();
    if (!IsSequential(plan)) return;
    KilledStudy alone(program, folder / "alone", plan);
    alone.Run();
    Take(study.Compare(alone), plan);
    ++compared_;
  }

  /// True when the study came to its end instead. After enough kills it may.
  bool KillOnce(KilledStudy& study) {
    study.Enqueue();
    const bool enough = kills_ == options_.rounds;
    const bool at_random = at_random_ <= kills_ / 2;
    const auto place = enough || at_random ? std::string() : NextPlace();
    const auto status = !place.empty() ? study.Run(fmt::format("{}:{}", place, AnyTime()))
                        : enough       ? study.Run()
                                       : study.RunFor(AnyDelay());
    if (status.Success()) return true;
    if (enough || status.signal != SIGKILL) {
      throw Error(ErrorKind::kFailed, "a manager ended with " + status.Describe(),
                  "see what the manager printed above");
    }
    ++kills_;
    ++(at_random ? at_random_ : at_place_[place]);
    return false;
  }

  std::chrono::milliseconds AnyDelay() {
    return std::chrono::milliseconds(std::uniform_int_distribution<>(3, 60)(random_));
  }
  int AnyTime() { return std::uniform_int_distribution<>(1, 3)(random_); }
  const std::string& NextPlace() { return ensemble::CrashPoints()[next_place_++ % ensemble::CrashPoints().size()]; }

  void Take(const Violations& violations, const KillPlan& plan) {
    violations_ += static_cast<int>(violations.size());
    for (const auto& violation : violations) fmt::print(stderr, "{}: {}\n", plan.name, violation);
  }

  const PartOptions& options_;
  std::mt19937_64 random_;
  std::size_t next_place_ = 0;
  std::map<std::string, int> at_place_;
  int kills_ = 0;
  int at_random_ = 0;
  int studies_ = 0;
  int compared_ = 0;
  int violations_ = 0;
  std::size_t acknowledged_ = 0;
};

}  // namespace

std::vector<Figure> MeasureKills(const PartOptions& options) {
  Campaign campaign(options);
  campaign.Run();
  return campaign.Figures();
}

}  // namespace slipway::bench
