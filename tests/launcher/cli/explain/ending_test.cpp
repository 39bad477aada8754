// Why a run ended, in words.

#include "launcher/cli/explain/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <map>
#include <utility>

#include "tests/launcher/every_cause.h"

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

RunFacts Ended(Phase phase, EndCause ended) {
  RunFacts facts;
  facts.state.run = "small-1";
  facts.selector = "small-1";
  EndAs(facts.state, phase, std::move(ended));
  facts.state.attempt = 1;
  facts.state.ended = "2026-11-22T06:00:00Z";
  return facts;
}

RunFacts FailedOfFour() {
  auto facts = Ended(Phase::kFailed, cause::RankFailed{1, "n2", {3, 0}});
  facts.ranks = 4;
  facts.ends = {{1, {3, 0}}, {3, {0, SIGSEGV}}};
  facts.culprit = 1;
  facts.log = {"/runs/small-1/attempt-1/rank-00001.log", "ValueError: no such field", 1};
  facts.spec_file = "/scratch/me/exp 1.yaml";
  return facts;
}

TEST(ExplainEnd, NamesTheRankThatFailedAndShowsItsLastWords) {
  const auto facts = FailedOfFour();
  const auto explanation = Explain(facts);
  EXPECT_EQ(explanation.headline, "failed at 2026-11-22T06:00:00Z");
  EXPECT_THAT(explanation.because,
              ElementsAre("rank 1 on n2 ended with exit status 3", "rank 3 ended by itself with signal 11 (SIGSEGV)",
                          "2 other ranks were ended by Slipway, or with their node"));
  EXPECT_THAT(
      explanation.next,
      ElementsAre("read all of it: slipway logs small-1 --rank 1",
                  "if the cause is in the spec, correct it and start anew: slipway run '/scratch/me/exp 1.yaml'",
                  "if it is in the program, correct it and begin again at step 0 (no checkpoint was written): "
                  "slipway resume small-1"));
  EXPECT_THAT(Describe(explanation, facts),
              HasSubstr("last lines of /runs/small-1/attempt-1/rank-00001.log:\nValueError: no such field\n"));
}

TEST(ExplainEnd, SaysHowAProgramFindsAFileBesideTheSpec) {
  auto facts = FailedOfFour();
  EXPECT_THAT(Explain(facts).next, Not(Contains(HasSubstr("launch.files"))));
  facts.unfound = "data/x.csv";
  EXPECT_EQ(Explain(facts).next.front(),
            "'data/x.csv' lies beside the spec, not in the working directory: set launch.files: [data] or "
            "launch.workdir: spec");
}

TEST(ExplainEnd, SaysHowAnOptionGetsNoValue) {
  auto facts = FailedOfFour();
  facts.bare_flags = {"amp"};
  EXPECT_EQ(Explain(facts).next.front(), "if --amp takes no value, name it in train.flags: [amp]");
  facts.bare_flags = {"amp", "verbose"};
  EXPECT_EQ(Explain(facts).next.front(), "if an option takes no value, name it in train.flags: [amp, verbose]");
}

TEST(ExplainEnd, PutsRanksThatEndedAlikeOnOneLine) {
  auto facts = FailedOfFour();
  facts.ends = {{0, {1, 0}}, {1, {1, 0}}, {2, {1, 0}}, {3, {0, 0}}};
  EXPECT_THAT(Explain(facts).because, Contains("ranks 0 to 2 ended by themselves with exit status 1"));
  facts.ends = {{0, {1, 0}}, {2, {1, 0}}};
  EXPECT_THAT(Explain(facts).because, Contains("ranks 0, 2 ended by themselves with exit status 1"));
}

TEST(ExplainEnd, NamesTheRankWhereTheReasonDoesNot) {
  auto facts = FailedOfFour();
  EndAs(facts.state, Phase::kLost, cause::ManagerLost{4711, "n1"});
  EXPECT_THAT(Explain(facts).because, Contains("rank 1 ended by itself with exit status 3"));
}

TEST(ExplainEnd, AdvisesByTheStatusOfTheRankAtFault) {
  auto facts = FailedOfFour();
  for (const auto& [status, words] : {std::pair(ExitStatus{127, 0}, "train.command"),
                                      {ExitStatus{0, SIGKILL}, "memory"},
                                      {ExitStatus{0, SIGBUS}, "/dev/shm"},
                                      {ExitStatus{0, SIGILL}, "processor"},
                                      {ExitStatus{0, SIGXFSZ}, "ulimit -f"}}) {
    facts.ends = {{1, status}};
    EndAs(facts.state, Phase::kFailed, cause::RankFailed{1, "n2", status});
    EXPECT_THAT(Explain(facts).next.front(), HasSubstr(words));
  }
  EXPECT_EQ(AdviceFor({3, 0}), "");
  EXPECT_EQ(AdviceFor({}), "");
}

TEST(ExplainEnd, AdvisesOnAProgramThatIsNotFound) {
  auto facts = Ended(Phase::kFailed, cause::RankNotStarted{0, "n2", "train", ENOENT, ""});
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("train.command, PATH")));
  EndAs(facts.state, Phase::kFailed, cause::RankNotStarted{0, "n2", "train", ENOENT, "/no/such/python"});
  EXPECT_THAT(Explain(facts).next, Not(Contains(HasSubstr("train.command, PATH"))));
}

TEST(ExplainEnd, SaysWhoEndedTheRanksThatOneLeft) {
  auto facts = Ended(Phase::kFailed, cause::RankLeft{1, "n2"});
  facts.ranks = 3;
  facts.ends = {{1, {0, 0}}};
  facts.culprit = 1;
  EXPECT_THAT(Explain(facts).because,
              ElementsAre(HasSubstr("rank 1 on n2 ended with status 0 while other ranks ran, most likely before "
                                    "MPI_Finalize"),
                          "2 other ranks were ended by the MPI launcher"));
}

TEST(ExplainEnd, GoesOnFromTheNewestCheckpoint) {
  auto facts = FailedOfFour();
  facts.checkpoint = 4000;
  EXPECT_THAT(Explain(facts).next,
              Contains(HasSubstr("go on from the checkpoint of step 4000: slipway resume small-1")));
}

TEST(ExplainEnd, SaysWhatResumeBeginsAt) {
  auto facts = Ended(Phase::kCancelled, cause::Cancelled{});
  EXPECT_THAT(Explain(facts).next,
              ElementsAre("begin again at step 0 (no checkpoint was written): slipway resume small-1"));
  facts.has_files = true;  // perhaps what it goes on from
  EXPECT_THAT(
      Explain(facts).next,
      ElementsAre("start again (Slipway has no checkpoint; the program finds its files in work/ again): slipway "
                  "resume small-1"));
  facts.may_have_checkpoint = true;  // in a tier
  EXPECT_THAT(Explain(facts).next, ElementsAre("begin again: slipway resume small-1"));
  facts.may_have_checkpoint = false;
  facts.state.attempt = 0;
  EXPECT_THAT(Explain(facts).next, ElementsAre("begin again: slipway resume small-1"));
}

TEST(ExplainEnd, PointsToNoEmptyLog) {
  auto facts = FailedOfFour();
  facts.log = {};
  facts.silent = RunFacts::Silent::kAll;
  EXPECT_THAT(Explain(facts).because, Contains("the ranks wrote nothing; exit status 3 is the program's own"));
  EXPECT_THAT(Explain(facts).next, Not(Contains(HasSubstr("slipway logs"))));
  facts.log = {"/runs/small-1/attempt-1/rank-00000.log", "waiting", 0};
  facts.silent = RunFacts::Silent::kCulprit;
  EXPECT_THAT(Explain(facts).because, Contains("rank 1 wrote nothing"));
  EXPECT_THAT(Explain(facts).next, Contains("read all of it: slipway logs small-1 --rank 0"));
}

TEST(ExplainEnd, PointsToTheLogThatItShows) {
  auto facts = Ended(Phase::kFailed, cause::StartFailed{"only 1 of 2 ranks started"});
  facts.log = {"/runs/small-1/attempt-1/launcher.log", "no slots"};
  EXPECT_THAT(Explain(facts).next, Contains("read all of it: less /runs/small-1/attempt-1/launcher.log"));
}

TEST(ExplainEnd, OffersANewRunWhereTheSpecMayBeAtFault) {
  for (const EndCause& ended : {EndCause(cause::RankFailed{0, "n2", {3, 0}}), EndCause(cause::RankNotStarted{}),
                                EndCause(cause::SameFailure{"x"}), EndCause(cause::TooManyFailures{3})}) {
    auto facts = Ended(Phase::kFailed, ended);
    facts.spec_file = "/scratch/me/exp.yaml";
    EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("start anew: slipway run /scratch/me/exp.yaml")));
  }
  EXPECT_THAT(Explain(Ended(Phase::kFailed, cause::NodeLost{"node n2 is lost", {}, false})).next,
              Not(Contains(HasSubstr("slipway run"))));
}

TEST(ExplainEnd, OfAJobWhoseNodesDoNotSeeSlipwaySaysSo) {
  auto facts = Ended(Phase::kFailed, cause::JobEnded{12, JobState::kFailed, {127, 0}});
  facts.slipway = "/tmp/build/bin/slipway";
  EXPECT_THAT(Explain(facts).next, Not(Contains(HasSubstr("do not see"))));
  facts.manager_began = false;
  EXPECT_THAT(Explain(facts).next, Contains("the nodes do not see slipway at /tmp/build/bin/slipway: install it on a "
                                            "shared file system"));
}

TEST(ExplainEnd, SaysWhatCanBeDoneAboutATimeLimit) {
  auto facts = Ended(Phase::kFailed, cause::TimeLimit{1200});
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("checkpoint.on_time_limit: requeue")));
  facts.goes_on_at_limit = true;
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("checkpoint.every")));
  facts.state.cause = cause::JobTimeLimit{.without_checkpoint = true, .before_start = true};
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("raise launch.time_limit, or stage less data")));
}

TEST(ExplainEnd, SaysWhatSlurmSaysOfTheJob) {
  auto facts = Ended(Phase::kFailed, cause::JobEnded{12, JobState::kNodeFail});
  facts.job.emplace();
  facts.job->id = 12;
  facts.job->state = JobState::kNodeFail;
  facts.job->reason_text = "n2 lost";
  facts.job->restarts = 3;
  const auto explanation = Explain(facts);
  EXPECT_THAT(explanation.because, Contains("its job 12 was ended because one of its nodes failed"));
  EXPECT_THAT(explanation.because, Contains("in Slurm's words: n2 lost"));
  EXPECT_THAT(explanation.because, Contains("Slurm had queued it again 3 times"));
  EXPECT_THAT(explanation.next, Contains("a node was at fault, not the run"));
  facts.job->state = JobState::kOutOfMemory;
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("memory_per_rank")));
}

TEST(ExplainEnd, RepeatsTheWatchUnlessItIsTheReason) {
  auto facts = FailedOfFour();
  facts.watch = "rank 2 on host n17 is stopped (SIGSTOP)";
  EXPECT_THAT(Explain(facts).because, Contains(facts.watch));
  EndAs(facts.state, Phase::kFailed, cause::Watched{"stalled", facts.watch, 1});
  facts.ends.clear();
  EXPECT_THAT(Explain(facts).because, ElementsAre(facts.watch));
}

TEST(ExplainEnd, AdvisesOnARankThatLeftItsLoopEarly) {
  const auto next_of = [](const char* finding) {
    return Explain(Ended(Phase::kFailed, cause::Watched{finding, "rank 2 has ended its program", 2})).next;
  };
  EXPECT_THAT(next_of("left"), ElementsAre(HasSubstr("give all ranks the same number of steps"),
                                           HasSubstr("then begin again at step 0")));
  EXPECT_THAT(next_of("stalled"), Not(Contains(HasSubstr("number of steps"))));
}

TEST(ExplainEnd, ShowsWhatTheManagerSaidWhereNoRankSpoke) {
  auto facts = Ended(Phase::kFailed, cause::StagingFailed{"cannot read '/data/a'"});
  facts.state.detail = "cannot read '/data/a'\nwhile staging dataset 'train'\n";
  EXPECT_THAT(Explain(facts).because, ElementsAre("cannot read '/data/a'", "  while staging dataset 'train'"));
}

TEST(ExplainEnd, OfASuccessHasNothingToAdd) {
  const auto explanation = Explain(Ended(Phase::kSucceeded, cause::Completed{}));
  EXPECT_THAT(explanation.because, IsEmpty());
  EXPECT_THAT(explanation.next, IsEmpty());
  EXPECT_THAT(Explain(Ended(Phase::kSucceeded, cause::OutOfTime{})).next, Contains(HasSubstr("slipway resume")));
}

TEST(ExplainEnd, OfAnEnsembleSaysWhatLetsItGoOn) {
  auto facts = Ended(Phase::kFailed, cause::TooManyFailures{3});
  facts.trials = {{"failed", 3}};
  facts.failures = {{"failed: exit status 3", {4, 5, 6}, ""}};
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("slipway resume small-1 --set ensemble.max_failures=N")));
  EndAs(facts.state, Phase::kFailed, cause::NoTrialCompleted{3, 0});
  EXPECT_THAT(Explain(facts).next,
              Contains(HasSubstr("slipway trials retry --failed small-1 && slipway resume small-1")));
  EndAs(facts.state, Phase::kFailed, cause::OutOfTime{true, false});
  EXPECT_THAT(Explain(facts).next,
              Contains("give it more time: slipway resume small-1 --set ensemble.budget.time=..."));
}

/// `resume` would find nothing to do.
TEST(ExplainEnd, OfPrunedTrialsSaysHowTheyRunAgain) {
  auto facts = Ended(Phase::kFailed, cause::NoTrialCompleted{0, 0, 9, 0});
  facts.trials = {{"pruned", 9}};
  facts.trials_ended = true;
  EXPECT_EQ(facts.state.reason, "none of 9 trials is complete: 9 pruned");
  const auto next = Explain(facts).next;
  EXPECT_THAT(next, Contains(HasSubstr("ensemble.scheduler")));
  EXPECT_THAT(next, Contains(HasSubstr("start anew: slipway run ")));
  EXPECT_THAT(next,
              Contains("run them again: slipway trials retry --outcome pruned small-1 && slipway resume small-1"));
  EXPECT_THAT(next, Not(Contains(HasSubstr("that are left"))));
}

TEST(ExplainEnd, SpeaksOfTrialsThatAreLeftOnlyWhereSomeAre) {
  auto facts = Ended(Phase::kCancelled, cause::Cancelled{});
  facts.trials = {{"complete", 3}};
  EXPECT_THAT(Explain(facts).next, Contains("go on with the trials that are left: slipway resume small-1"));
  facts.trials_ended = true;
  EXPECT_THAT(Explain(facts).next, Contains("go on: slipway resume small-1"));
}

TEST(ExplainEnd, SaysWhyTheTrialsCannotBeRead) {
  auto facts = Ended(Phase::kSucceeded, cause::Completed{});
  facts.trials_trouble = "trial book '/runs/small-1/trials.db': is damaged";
  facts.trials_remedy = "copy the run folder";
  const auto explanation = Explain(facts);
  EXPECT_THAT(explanation.because, ElementsAre("its trials cannot be read: " + facts.trials_trouble));
  EXPECT_THAT(explanation.next, ElementsAre("to see the trials: copy the run folder"));
}

TEST(ExplainEnd, OfACancelledRunHasNoLogToRead) {
  const auto explanation = Explain(Ended(Phase::kCancelled, cause::Cancelled{}));
  EXPECT_THAT(explanation.next, Not(Contains(HasSubstr("slipway logs"))));
}

/// What the next steps must name, for each kind of end; nothing: there is nothing to do.
const std::map<std::string_view, std::vector<std::string>> kAdviceByKind{
    {"completed", {}},
    {"cancelled", {"begin again at step 0"}},
    {"rank_failed", {"slipway logs small-1 --rank 1"}},
    {"rank_left", {"MPI_Finalize", "attempt-1/launcher.log", "slipway resume small-1"}},
    {"rank_not_started", {"first line of the script"}},
    {"rank_lost", {"slipway logs small-1"}},
    {"out_of_memory", {"launch.memory_per_rank"}},
    {"watched", {"slipway logs small-1"}},
    {"no_progress", {"SLIPWAY_CHECKPOINT_DIR"}},
    {"start_failed", {"slipway doctor"}},
    {"steps_failed", {"slipway logs small-1/", "slipway resume small-1"}},
    {"node_lost", {"a node was at fault"}},
    {"nodes_missing", {"a node was at fault"}},
    {"time_limit", {"launch.time_limit"}},
    {"job_time_limit", {"launch.time_limit"}},
    {"job_ended", {"launch.memory_per_rank"}},
    {"job_without_output", {"--runs-dir"}},
    {"job_removed", {"slipway resume small-1"}},
    {"job_requeued", {"slipway resume small-1"}},
    {"job_preempted", {"another QOS or partition"}},
    {"job_forgotten", {"slipway resume small-1"}},
    {"requeue_refused", {"slipway resume small-1"}},
    {"submission_refused", {"slipway resume small-1"}},
    {"not_submitted", {"slipway resume small-1"}},
    {"manager_lost", {"slipway resume small-1"}},
    {"manager_elsewhere", {"slipway status '/runs/small 1'"}},
    {"disk_full", {"free space", "--runs-dir"}},
    {"staging_failed", {"slipway stage ls"}},
    {"manager_failed", {"slipway resume small-1"}},
    {"too_many_failures", {"slipway resume small-1 --set ensemble.max_failures=N"}},
    {"no_trial_completed", {"slipway trials retry --failed small-1 && slipway resume small-1"}},
    {"same_failure", {"slipway trials retry --failed small-1 && slipway resume small-1"}},
    {"out_of_time", {"slipway resume small-1 --set ensemble.budget.time=... --set ensemble.budget.node_hours=..."}},
    {"out_of_nodes", {"slipway resume small-1"}},
    {"serving_ended", {"slipway trials serve small-1"}}};

RunFacts FactsOf(const EndCause& ended) {
  const bool is_success = std::holds_alternative<cause::Completed>(ended);
  auto facts = Ended(is_success ? Phase::kSucceeded : Phase::kFailed, ended);
  facts.culprit = RankOf(ended);
  facts.log = {"/runs/small-1/attempt-1/rank.log", "no luck", facts.culprit.value_or(0)};
  if (std::holds_alternative<cause::Cancelled>(ended)) facts.state.phase = Phase::kCancelled;
  if (std::holds_alternative<cause::NoTrialCompleted>(ended)) facts.failures = {{"failed: exit status 3", {4}, ""}};
  return facts;
}

TEST(ExplainEnd, AdvisesOnEveryKindOfEnd) {
  for (const auto& ended : test::EveryCause()) {
    const auto next = Explain(FactsOf(ended)).next;
    const auto& wanted = kAdviceByKind.at(KindOf(ended));
    EXPECT_EQ(next.empty(), wanted.empty()) << KindOf(ended);
    for (const auto& words : wanted) EXPECT_THAT(next, Contains(HasSubstr(words))) << KindOf(ended);
  }
}

TEST(ExplainEnd, DecidesNothingByTheWordsOfAReason) {
  for (const auto& ended : test::EveryCause()) {
    auto facts = FactsOf(ended);
    const auto before = Explain(facts);
    const auto reason = std::exchange(
        facts.state.reason, "rank 0 time limit max_failures none of slipway resume --set slipway trials retry");
    auto after = Explain(facts);
    EXPECT_EQ(after.next, before.next) << KindOf(ended);
    EXPECT_EQ(after.because.front(), facts.state.reason);
    if (reason.empty()) {
      after.because.erase(after.because.begin());
    } else {
      after.because.front() = reason;
    }
    EXPECT_EQ(after.because, before.because) << KindOf(ended);
  }
}

TEST(ExplainEnd, CountsRestarts) {
  auto facts = FailedOfFour();
  facts.restarts = 1;
  facts.state.attempt = 2;
  EXPECT_THAT(Explain(facts).because, Contains("its ranks were started again 1 time"));
  EXPECT_THAT(Explain(facts).headline, HasSubstr("in attempt 2"));
  EXPECT_THAT(Explain(Ended(Phase::kFailed, cause::StartFailed{"x"})).because, Not(Contains(HasSubstr("again"))));
}

}  // namespace
}  // namespace slipway::launcher
