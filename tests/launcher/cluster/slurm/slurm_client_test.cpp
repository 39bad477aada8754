// The client against helpers that do what libslurm may do to its process, and against the real helper where there is
// no Slurm.

#include "launcher/cluster/slurm_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/files.h"
#include "launcher/cluster/slurm_messages.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class SlurmClients : public testing::Test {
 protected:
  SlurmClients() { WriteFile(directory_ / "slurm.conf", "ClusterName=c\n"); }

  SlurmClient ClientOf(const fs::path& helper) const {
    SlurmClientOptions options;
    options.helper = helper;
    options.environment.Set("SLURM_CONF", (directory_ / "slurm.conf").string());
    options.deadline = options.submit_deadline = seconds(60);
    return SlurmClient(std::move(options));
  }

  /// A client whose helper is this shell script, in the folder of the test.
  SlurmClient ClientWith(const std::string& script, milliseconds deadline = seconds(60)) const {
    const auto helper = directory_ / "helper";
    WriteFile(helper, "#!/bin/sh\ncd '" + directory_.path().string() + "'\n" + script, 0750);
    SlurmClientOptions options;
    options.helper = helper;
    options.environment.Set("SLURM_CONF", (directory_ / "slurm.conf").string());
    options.deadline = options.submit_deadline = deadline;
    return SlurmClient(std::move(options));
  }

  /// A client whose helper answers this, and keeps the request.
  SlurmClient ClientThatIsTold(const std::string& answer) const {
    WriteFile(directory_ / "answer", answer + "\n");
    return ClientWith("cat >request; cat answer");
  }

  Json Request() const { return Json::parse(ReadFile(directory_ / "request")); }

  test::TempDirectory directory_;
};

template <class Action>
SlurmError ErrorOf(Action action) {
  try {
    action();
  } catch (const SlurmError& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return SlurmError({});
}

TEST_F(SlurmClients, AskInJsonAndReadTheAnswer) {
  SlurmJob job;
  job.id = 7;
  job.name = "x";
  const auto jobs = ClientThatIsTold(AnswerLine(Json::array({ToJson(job)}))).Jobs(std::vector<JobId>{7, 8}, 1000);
  EXPECT_THAT(jobs, testing::ElementsAre(job));
  EXPECT_EQ(Request(), Json({{"schema", kSlurmRequestSchema}, {"ask", "jobs"}, {"ids", {7, 8}}, {"owner", 1000}}));
}

TEST_F(SlurmClients, AskNothingAboutNoJobs) {
  EXPECT_TRUE(ClientWith("exit 9").Jobs({}).empty());
  EXPECT_TRUE(ClientWith("exit 9").PastJobs({}).empty());
}

TEST_F(SlurmClients, AskOnceAboutSeveralForgottenJobs) {
  const auto client = ClientThatIsTold(AnswerLine(Json::array()));
  const std::vector<JobId> ids{7, 8};
  EXPECT_TRUE(client.Jobs(ids, 1000, OwnerIs::kInDoubt).empty());
  EXPECT_EQ(Request(), Json({{"schema", kSlurmRequestSchema},
                             {"ask", "jobs"},
                             {"ids", {7, 8}},
                             {"owner", 1000},
                             {"owner_in_doubt", true}}));
  EXPECT_TRUE(client.PastJobs(ids).empty());
  EXPECT_EQ(Request(), Json({{"schema", kSlurmRequestSchema}, {"ask", "past"}, {"ids", {7, 8}}}));
}

TEST_F(SlurmClients, SayThatAJobIsForgotten) {
  EXPECT_EQ(ClientThatIsTold(AnswerLine(Json::array())).Job({3}), std::nullopt);
}

TEST_F(SlurmClients, TakeOnlyOurOwnJobFromTheAccounting) {
  SlurmJob job;
  job.id = 7;
  job.state = JobState::kTimeout;
  job.work_dir = "/runs/a";
  const auto client = ClientThatIsTold(AnswerLine(Json::array({ToJson(job)})));
  EXPECT_EQ(client.PastJob({.id = 7, .work_dir = "/runs/a"}), job);
  EXPECT_EQ(Request(), Json({{"schema", kSlurmRequestSchema}, {"ask", "past"}, {"ids", Json::array({7})}}));
  EXPECT_EQ(client.PastJob({.id = 7, .work_dir = "/runs/b"}), std::nullopt) << "numbers are given again";
}

TEST_F(SlurmClients, TellAJobOfAnotherClusterFromOneThatIsForgotten) {
  SlurmJob job;
  job.id = 7;
  job.cluster = "beta";
  const auto client = ClientThatIsTold(AnswerLine(Json::array({ToJson(job)}), "beta"));
  EXPECT_EQ(client.Job({.id = 7, .cluster = "beta"}), job);
  EXPECT_EQ(client.ClusterName(), "beta");
  const auto error = ErrorOf([&] { client.Job({.id = 7, .cluster = "alpha"}); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kOtherCluster);
  EXPECT_THAT(error.message(), HasSubstr("job 7 belongs to cluster 'alpha', and Slurm here is cluster 'beta'"));
}

TEST_F(SlurmClients, TakeAJobWithTheNumberOfAnotherForForgotten) {
  SlurmJob job;
  job.id = 7;
  job.comment = "slipway:b";
  const auto client = ClientThatIsTold(AnswerLine(Json::array({ToJson(job)})));
  EXPECT_EQ(client.Job({.id = 7, .comment = "slipway:a"}), std::nullopt);
}

TEST_F(SlurmClients, SayWhichJobIsToBeActedOn) {
  const JobIdentity job{7, "alpha", "slipway:a", "/runs/a", 1000};
  ClientThatIsTold(AnswerLine(Json::object())).Cancel(job);
  EXPECT_EQ(Request().at("job"), ToJson(job));
}

TEST_F(SlurmClients, WaitForTheAccountingForSecondsOnly) {
  const auto error = ErrorOf([&] { ClientWith("exec sleep 100", seconds(100)).PastJob({7}); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kTimeout);
}

TEST_F(SlurmClients, HandASubmissionOverWhole) {
  SubmitRequest request;
  request.name = "x";
  request.script = std::string(3 << 20, '#');
  request.environment = {"A=`rm -rf /`", "B=\"'\\\n"};
  const auto submission = ClientThatIsTold(AnswerLine(ToJson(Submission{12, "hello", ""}))).Submit(request);
  EXPECT_EQ(submission.job, 12u);
  EXPECT_EQ(submission.message, "hello");
  SubmitRequest arrived;
  FromJson(Request().at("job"), arrived);
  EXPECT_EQ(arrived, request);
}

TEST_F(SlurmClients, AskForAStartLikeForASubmission) {
  SubmitRequest request;
  request.name = "x";
  const StartEstimate estimate{SlurmTime(seconds(1795319208)), "n1", "debug", ""};
  EXPECT_EQ(ClientThatIsTold(AnswerLine(ToJson(estimate))).EstimateStart(request), estimate);
  EXPECT_EQ(Request().at("ask"), "estimate");
  SubmitRequest arrived;
  FromJson(Request().at("job"), arrived);
  EXPECT_EQ(arrived, request);
}

TEST_F(SlurmClients, RefuseTextThatIsNotUtf8) {
  SubmitRequest request;
  request.environment = {"A=caf\xe9"};
  try {
    ClientWith("exit 9").Submit(request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("UTF-8"));
  }
}

TEST_F(SlurmClients, PassOnWhatPluginsPrint) {
  const auto line = AnswerLine(TroubleReport{SlurmTrouble::kBurstBuffer, 2094, "Burst Buffer request invalid", ""});
  const auto error = ErrorOf([&] {
    ClientWith("echo 'slipway-slurm: error: no pool is called moon' >&2; echo 'be nice' >&2; echo '" + line + "'")
        .Ping();
  });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kBurstBuffer);
  EXPECT_THAT(error.message(), HasSubstr("Burst Buffer request invalid (error: no pool is called moon; be nice)"));
}

TEST_F(SlurmClients, ReadTheAnswerBehindBanners) {
  const auto line = AnswerLine(Json::object());
  ClientWith("echo Welcome; echo; echo warning >&2; echo '" + line + "'").Ping();
}

TEST_F(SlurmClients, SurviveALibraryThatEndsItsProcess) {
  const auto error = ErrorOf([&] { ClientWith("echo 'fatal: bad parameter Foo' >&2; exit 1").Ping(); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kHelper);
  EXPECT_EQ(error.exit_code(), 3);
  EXPECT_THAT(error.message(), HasSubstr("fatal: bad parameter Foo (exit status 1)"));
}

TEST_F(SlurmClients, SurviveALibraryThatCrashes) {
  const auto error = ErrorOf([&] { ClientWith("kill -SEGV $$").Ping(); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kHelper);
  EXPECT_THAT(error.message(), HasSubstr("SIGSEGV"));
}

TEST_F(SlurmClients, DoNotWaitForALibraryThatBlocks) {
  const auto began = SystemClock().Steady();
  const auto error =
      ErrorOf([&] { ClientWith("echo $$ >pid; echo retrying >&2; sleep 600", milliseconds(5500)).Ping(); });
  EXPECT_LT(SystemClock().Steady() - began, seconds(60));
  EXPECT_EQ(error.trouble(), SlurmTrouble::kTimeout);
  EXPECT_EQ(error.exit_code(), 3);
  EXPECT_THAT(error.message(), HasSubstr("no answer in 5.5 s; so far: retrying"));
  const auto helper = std::stoi(ReadFile(directory_ / "pid"));
  EXPECT_NE(::kill(helper, 0), 0) << "it still runs";
}

TEST_F(SlurmClients, DoNotTrustGarbage) {
  const auto error = ErrorOf([&] { ClientWith("head -c 100000 /dev/urandom; exit 0").Ping(); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kHelper);
}

TEST_F(SlurmClients, DoNotTrustHalfAnAnswer) {
  const auto line = AnswerLine(ToJson(Submission{12, "", ""}));
  const auto error = ErrorOf([&] { ClientWith("printf '" + line.substr(0, line.size() / 2) + "'").Submit({}); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kHelper);
  EXPECT_THAT(error.what(), HasSubstr("may have been submitted"));
}

TEST_F(SlurmClients, AreNotFilledByAHelperGoneWild) {
  const auto error = ErrorOf([&] { ClientWith("exec yes", milliseconds(700)).Ping(); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kTimeout);
}

TEST_F(SlurmClients, ShowOnlyTheEndOfALongComplaint) {
  const auto error = ErrorOf([&] { ClientWith("yes no | head -c 999999 >&2; echo last >&2; exit 1").Ping(); });
  EXPECT_LT(error.message().size(), 1500u);
  EXPECT_THAT(error.message(), HasSubstr("no; last"));
}

TEST_F(SlurmClients, SayThatAJobMayHaveBeenSubmitted) {
  const auto error = ErrorOf([&] { ClientWith("sleep 60", milliseconds(200)).Submit({}); });
  EXPECT_THAT(error.what(), HasSubstr("may have been submitted"));
  const auto refused = AnswerLine(TroubleReport{SlurmTrouble::kAccount, 2045, "", ""});
  EXPECT_THAT(ErrorOf([&] { ClientThatIsTold(refused).Submit({}); }).what(),
              testing::Not(HasSubstr("may have been submitted")));
}

TEST_F(SlurmClients, NameAHelperThatIsMissing) {
  try {
    ClientOf(directory_ / "none").Ping();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), HasSubstr("none"));
  }
}

TEST_F(SlurmClients, LookForTheConfigurationThemselves) {
  RemoveTree(directory_ / "slurm.conf");
  const auto error = ErrorOf([&] { ClientWith("touch asked; sleep 60").Ping(); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kNoConfiguration);
  EXPECT_THAT(error.message(), HasSubstr("SLURM_CONF names '" + (directory_ / "slurm.conf").string()));
  EXPECT_FALSE(fs::exists(directory_ / "asked"));
}

class SlurmHelper : public SlurmClients {
 protected:
  /// The real helper in an installation of its own, with these modules.
  SlurmClient ClientOfInstallation(const std::vector<std::string>& modules) const {
    MakeDirectories(directory_ / "libexec/slipway");
    MakeDirectories(directory_ / "lib/slipway/slurm");
    for (const auto& module : modules) WriteFile(directory_ / "lib/slipway/slurm" / module, "not a library");
    const auto helper = directory_ / "libexec/slipway/slipway-slurm";
    fs::copy_file(fs::path(SLIPWAY_BUILD_DIR) / "libexec/slipway/slipway-slurm", helper);
    return ClientOf(helper);
  }
};

TEST_F(SlurmHelper, SaysThatSlipwayWasBuiltWithoutSlurm) {
  const auto error = ErrorOf([&] { ClientOfInstallation({"README", "libslipway_slurm-x.so"}).Ping(); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kNotBuilt);
  EXPECT_THAT(error.next_step(), HasSubstr("libslurm-dev"));
}

TEST_F(SlurmHelper, SaysWhichLibraryItsModulesMiss) {
  const auto error = ErrorOf([&] { ClientOfInstallation({"libslipway_slurm-9.so", "libslipway_slurm-40.so"}).Ping(); });
  EXPECT_EQ(error.trouble(), SlurmTrouble::kNoLibrary);
  EXPECT_LT(error.message().find("slurm-40.so"), error.message().find("slurm-9.so")) << "the newest comes first";
}

}  // namespace
}  // namespace slipway::launcher
