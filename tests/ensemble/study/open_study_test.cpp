/// Whatever happens to the trials of a study, what is derived from them while it happens is what a study that is opened
/// on the same rows derives: the rows of configurations, the best of them, the line, and what the sampler has learnt.
#include "ensemble/study/open_study.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "ensemble/manager/ask_tell.h"
#include "ensemble/manager/requests.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

EnsembleOptions StudyOptions(const std::string& sampler, const std::string& scheduler) {
  EnsembleOptions options;
  options.objectives = {{"loss", Goal::kMinimize}};
  options.trials = 25;
  options.repeats = scheduler == "wilcoxon" ? 6 : 3;
  options.retries = 1;
  options.sampler = sampler;
  options.scheduler.type = scheduler;
  options.space = ParseSpace(Json::parse(R"({"x":{"uniform":[-2,2],"step":0.1},"kind":{"choice":["a","b"]},
    "y":{"log":[1e-3,1],"when":{"kind":"b"}}})"));
  return options;
}

/// All that others see of a row.
std::string Described(const TrialRecord& row) {
  Json json{{"number", row.number},
            {"state", WordOf(row.state)},
            {"further", row.further},
            {"origin", row.origin},
            {"configuration", row.configuration},
            {"repeat", row.repeat},
            {"failures", row.failures},
            {"reason", row.reason},
            {"attempts", row.attempts},
            {"has_started", row.started.has_value()},
            {"has_ended", row.ended.has_value()}};
  if (row.objective) json["objective"] = *row.objective;
  return json.dump();
}

/// A user of ask/tell who does whatever can be done.
class AnyUser {
 public:
  AnyUser(const EnsembleOptions& options, unsigned seed) : options_(options), chance_(seed) {
    options_.requests_in = folder_.path();
    Open();
  }

  void DoSomething() {
    const auto what = Below(12);
    if (what < 5) {
      Ask();
    } else if (what < 9) {
      TellOne();
    } else if (what < 11) {
      RetryOne();
    } else if (Below(4) == 0) {
      Open();
    } else if (session_->study().HasBudget()) {
      session_->Enqueue({{"kind", "b"}});
    }
  }

  void ExpectWhatAReopenedStudyHolds() {
    const OpenStudy anew(*book_, options_, 0);
    const auto& lived = session_->study();
    EXPECT_EQ(lived.queued(), anew.queued());
    ExpectSameRows(lived.trials(), anew.trials());
    ExpectSameRows(lived.configurations().table(), anew.configurations().table());
    const auto best = lived.Best();
    const auto best_anew = anew.Best();
    ASSERT_EQ(best.has_value(), best_anew.has_value());
    if (best) {
      EXPECT_EQ(Described(*best), Described(*best_anew));
    }
  }

 private:
  std::uint64_t Below(std::uint64_t count) { return chance_() % count; }

  void Open() {
    session_.reset();
    book_.reset();
    book_.emplace(TrialBook::OpenForWriting(folder_.path()));
    session_.emplace(*book_, options_, LossRules{});
    running_.clear();
    for (const auto& trial : session_->study().trials().trials()) {
      if (trial.state == TrialState::kRunning) running_.push_back(trial.number);
    }
  }

  /// Where the sampler chooses, one that knows nothing but the rows chooses the same.
  void Ask() {
    OpenStudy anew(*book_, options_, 0);
    Changes chosen;
    const bool sampler_is_asked = anew.queued().empty() && WaitingRequests(folder_.path()).empty() && anew.Ask(chosen);
    const auto answer = session_->Ask();
    const auto* asked = std::get_if<AskedTrial>(&answer);
    if (asked == nullptr) return;
    running_.push_back(asked->trial);
    if (sampler_is_asked) {
      EXPECT_EQ(Describe(asked->parameters), Describe(chosen.trials.front().parameters));
    }
  }

  void TellOne() {
    if (running_.empty()) return;
    const auto at = running_.begin() + static_cast<std::ptrdiff_t>(Below(running_.size()));
    const TrialNumber trial = *at;
    running_.erase(at);
    const double loss = 0.25 * static_cast<double>(Below(8));  // often equal
    const auto how = Below(6);
    if (how == 0) session_->Report(trial, {1, {}, {{"loss", loss}}});
    if (how < 2) {
      session_->Tell(trial, ToldPruned{});
    } else if (how < 4) {
      session_->Tell(trial, ToldFailed{"no luck"});
    } else {
      session_->Tell(trial, ToldResults{{loss}});
    }
  }

  void RetryOne() {
    std::vector<TrialNumber> over;
    for (const auto& trial : session_->study().trials().trials()) {
      if (MayBeRetried(trial.state)) over.push_back(trial.number);
    }
    if (!over.empty()) PostRequest(folder_.path(), Retry{{over[Below(over.size())]}});
  }

  static void ExpectSameRows(const TrialTable& lived, const TrialTable& anew) {
    ASSERT_EQ(lived.size(), anew.size());
    for (TrialNumber trial = 0; trial < lived.size(); ++trial) {
      EXPECT_EQ(Described(lived.at(trial)), Described(anew.at(trial)));
    }
  }

  test::TempDirectory folder_;
  EnsembleOptions options_;
  std::mt19937 chance_;
  std::optional<TrialBook> book_;
  std::optional<AskTell> session_;
  std::vector<TrialNumber> running_;
};

class OpenStudyTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(OpenStudyTest, HoldsWhatAReopenedOneWouldHold) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AnyUser user(StudyOptions(GetParam().first, GetParam().second), seed);
    for (int change = 0; change < 120 && !HasFailure(); ++change) {
      SCOPED_TRACE("change " + std::to_string(change));
      user.DoSomething();
      user.ExpectWhatAReopenedStudyHolds();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpenStudyTest,
                         testing::Values(std::pair("tpe", "none"), std::pair("cmaes", "none"),
                                         std::pair("genetic", "wilcoxon"), std::pair("grid", "none"),
                                         std::pair("quadratic", "none"), std::pair("portfolio", "none")),
                         [](const auto& test) { return std::string(test.param.first) + "_" + test.param.second; });

}  // namespace
}  // namespace slipway::ensemble
