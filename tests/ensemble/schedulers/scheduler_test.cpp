#include "ensemble/schedulers/scheduler.h"

#include <gmock/gmock.h>

#include <functional>

#include "core/error.h"
#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {
namespace {

using testing::HasSubstr;

std::string Refusal(const std::string& type, const std::function<void(SchedulerSettings&)>& change = {}) {
  auto settings = SettingsOf(type);
  settings.parallel = 8;
  if (change) change(settings);
  try {
    MakeScheduler(settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message();
  }
  return "";
}

TEST(MakeScheduler, MakesEveryTypeThatItNames) {
  for (const auto& name : SchedulerNames()) {
    EXPECT_EQ(Refusal(name,
                      [&](auto& settings) {
                        settings.max = 9;
                        settings.interval = 1;
                        settings.upper = 1;
                        settings.patience = name == "patient" ? 1 : 0;
                      }),
              "")
        << name;
  }
}

TEST(MakeScheduler, NamesWhatContradicts) {
  EXPECT_THAT(Refusal("ahsa"), HasSubstr("unknown type 'ahsa'; did you mean 'asha'?"));
  EXPECT_THAT(Refusal("asha", [](auto& settings) { settings.min = 0; }), HasSubstr("'min' must be above 0"));
  EXPECT_THAT(Refusal("asha", [](auto& settings) { settings.min = kNotANumber; }), HasSubstr("'min'"));
  EXPECT_THAT(Refusal("asha", [](auto& settings) { settings.max = 1; }), HasSubstr("no rung lies between"));
  EXPECT_THAT(Refusal("asha", [](auto& settings) { settings.max = kInfinite; }), HasSubstr("no rung lies between"));
  EXPECT_THAT(Refusal("asha", [](auto& settings) { settings.reduction = 1; }), HasSubstr("'reduction'"));
  EXPECT_THAT(Refusal("asha", [](auto& settings) { settings.patience = 2; }), HasSubstr("does not go with 'asha'"));
  EXPECT_THAT(Refusal("none", [](auto& settings) { settings.patience = 2; }), HasSubstr("does not go with 'none'"));
  EXPECT_THAT(Refusal("hyperband"), HasSubstr("needs 'max'"));
  EXPECT_THAT(Refusal("percentile", [](auto& settings) { settings.percentile = 100; }), HasSubstr("'percentile'"));
  EXPECT_THAT(Refusal("median", [](auto& settings) { settings.startup = 0; }), HasSubstr("'startup'"));
  EXPECT_THAT(Refusal("median", [](auto& settings) { settings.interval = -1; }), HasSubstr("'interval'"));
  EXPECT_THAT(Refusal("patient"), HasSubstr("needs 'patience'"));
  EXPECT_THAT(Refusal("patient", [](auto& settings) { settings.patience = -1; }), HasSubstr("not be negative"));
  EXPECT_THAT(Refusal("threshold"), HasSubstr("'lower' or 'upper'"));
  EXPECT_THAT(Refusal("threshold", [](auto& settings) { settings.lower = 2, settings.upper = 1; }),
              HasSubstr("'lower' 2 is above 'upper' 1"));
  EXPECT_THAT(Refusal("pbt"), HasSubstr("needs 'interval'"));
  const auto with_interval = [](auto change) {
    return [change](SchedulerSettings& settings) { settings.interval = 1, change(settings); };
  };
  EXPECT_THAT(Refusal("pbt", with_interval([](auto& settings) { settings.quantile = 0.6; })), HasSubstr("'quantile'"));
  EXPECT_THAT(Refusal("pbt", with_interval([](auto& settings) { settings.parallel = 1; })), HasSubstr("at least 2"));
  EXPECT_THAT(Refusal("pbt", with_interval([](auto& settings) { settings.population = 9; })),
              HasSubstr("cannot run at once"));
  EXPECT_THAT(Refusal("wilcoxon", [](auto& settings) { settings.p_value = 0; }), HasSubstr("'p_value'"));
}

std::optional<std::string> TooFew(const std::string& type, std::int64_t trials, double min = 1) {
  auto settings = SettingsOf(type);
  settings.trials = trials;
  settings.min = min;
  settings.max = 27;
  return WhyTooFewTrials(settings);
}

TEST(TooFewTrials, AreThoseOfWhichNoneComesToTheEndByComparisons) {
  EXPECT_EQ(TooFew("asha", 10),
            "asha pauses trials at 1, 3 and 9, and one in 27 comes to 27: of 10 only the leader of each rung goes on; "
            "27 trials would do, or a larger 'min'");
  EXPECT_EQ(TooFew("asha", 27), std::nullopt);
  EXPECT_EQ(TooFew("asha", 10, 3), std::nullopt);
  EXPECT_THAT(TooFew("hyperband", 30).value(), HasSubstr("49 trials would do"));
  EXPECT_EQ(TooFew("hyperband", 49), std::nullopt);
  EXPECT_EQ(TooFew("median", 2), std::nullopt);
  EXPECT_EQ(WhyTooFewTrials(SettingsOf("asha")), std::nullopt) << "its rungs have no end";
}

TEST(NeverStop, LetsEveryTrialRun) {
  const auto scheduler = MakeScheduler(SettingsOf("none"));
  EXPECT_EQ(scheduler->Take({0, 1, kNotANumber}), Judgement{});
  EXPECT_EQ(scheduler->Promote(), std::nullopt);
  EXPECT_EQ(scheduler->Finish(TableOf({})), std::nullopt);
  EXPECT_TRUE(scheduler->MayBegin(5));
  EXPECT_EQ(scheduler->Descend(5), std::nullopt);
  EXPECT_EQ(scheduler->Limit(5), std::nullopt);
}

}  // namespace
}  // namespace slipway::ensemble
