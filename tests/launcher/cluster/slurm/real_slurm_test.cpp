// The client with a real Slurm of two nodes.

#include "tests/launcher/cluster/slurm/real_slurm.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/files.h"
#include "core/install.h"
#include "launcher/cluster/poll_interval.h"
#include "launcher/cluster/slurm_client.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RealSlurm, SaysWhatItIs) {
  Client().Ping();
  const auto cluster = Client().Cluster();
  EXPECT_EQ(cluster.name, "testbed");
  EXPECT_EQ(cluster.controller_version, cluster.library_version);
  EXPECT_EQ(cluster.burst_buffer, "");
  EXPECT_EQ(cluster.min_job_age_s, 300);
  EXPECT_EQ(cluster.max_array_size, 1001);
  EXPECT_EQ(cluster.preemption, "preempt/partition_prio");
  EXPECT_TRUE(cluster.enforces_partition_limits);
}

TEST_F(RealSlurm, ListsPartitionsAndNodes) {
  const auto partitions = Client().Partitions();
  const auto small =
      std::find_if(partitions.begin(), partitions.end(), [](auto& each) { return each.name == "small"; });
  ASSERT_NE(small, partitions.end());
  EXPECT_EQ(small->max_nodes, 2);
  EXPECT_EQ(small->max_time_minutes, 60);
  EXPECT_EQ(small->default_time_minutes, 10);
  EXPECT_EQ(small->nodes, "n[1-2]");
  EXPECT_FALSE(small->is_default);
  EXPECT_EQ(std::count_if(partitions.begin(), partitions.end(), [](auto& each) { return each.is_default; }), 1);

  bed_->Order({"drain", "n2"});
  const auto nodes = Client().Nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "n1");
  EXPECT_EQ(nodes[0].state, "IDLE");
  EXPECT_EQ(nodes[0].cpus, 8);
  EXPECT_EQ(nodes[0].memory_mib, 4096);
  EXPECT_EQ(nodes[0].features, "left");
  EXPECT_THAT(nodes[1].flags, ElementsAre("DRAIN"));
  EXPECT_EQ(nodes[1].reason, "testbed");
}

TEST_F(RealSlurm, RunsAJobAndTellsHowItEnded) {
  auto request = Request("echo out; echo err >&2; exit 3");
  request.comment = "slipway 1";
  const auto job = UntilOver(Submit(request));
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.status(), (ExitStatus{3, 0}));
  EXPECT_EQ(job.reason, "NonZeroExitCode");
  EXPECT_EQ(job.name, "test");
  EXPECT_EQ(job.comment, "slipway 1");
  EXPECT_EQ(job.partition, "debug");
  EXPECT_EQ(job.user, ::geteuid());
  EXPECT_EQ(job.nodes.size(), 1u);
  EXPECT_EQ(job.batch_host, job.nodes.front());
  EXPECT_EQ(job.time_limit_minutes, 5);
  ASSERT_TRUE(job.submitted && job.start && job.end);
  EXPECT_LE(*job.submitted, *job.start);
  EXPECT_EQ(OutputOf(job.id), "out\nerr\n");
}

TEST_F(RealSlurm, TellsTheSignalThatEndedAScript) {
  const auto job = UntilOver(Submit("kill -9 $$"));
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.status(), (ExitStatus{0, SIGKILL}));
}

TEST_F(RealSlurm, GivesAJobWhatItAskedFor) {
  auto request = Request("env; srun sh -c 'echo task $SLURM_PROCID on $SLURMD_NODENAME cpus $SLURM_CPUS_PER_TASK'");
  request.environment = {"PATH=/usr/bin:/bin", "TEXT=two words",
                         "SLURM_CONF=" + *bed_->environment().Get("SLURM_CONF")};
  request.nodes = 2;
  request.tasks = 4;
  request.tasks_per_node = 2;
  request.cpus_per_task = 3;
  request.constraint = "";
  request.account = "physics";
  request.exclusive = true;
  const auto job = UntilOver(Submit(request));
  EXPECT_EQ(job.state, JobState::kCompleted) << OutputOf(job.id);
  EXPECT_THAT(job.nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(job.account, "physics");
  const auto output = OutputOf(job.id);
  for (const auto* const line :
       {"TEXT=two words\n", "SLURM_NTASKS=4\n", "SLURM_JOB_NUM_NODES=2\n", "SLURM_JOB_NAME=test\n",
        "task 0 on n1 cpus 3\n", "task 1 on n1 cpus 3\n", "task 2 on n2 cpus 3\n", "task 3 on n2 cpus 3\n"}) {
    EXPECT_THAT(output, HasSubstr(line));
  }
}

/// NAME=value lines without those that differ from job to job.
std::set<std::string> Variables(const std::string& text) {
  std::set<std::string> variables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto name = line.substr(0, line.find('='));
    // How nice the shell of the submitter was; only with PropagatePrioProcess of slurm.conf does anyone read it.
    const bool differs = name == "SLURM_JOBID" || name == "SLURM_JOB_ID" || name == "SLURM_TASK_PID" ||
                         name == "SLURM_PRIO_PROCESS" || name == "SLURMD_NODENAME" || name == "SLURM_JOB_NODELIST" ||
                         name == "SLURM_NODELIST" || name == "_" || name == "HOSTNAME";
    if (!differs) variables.insert(line);
  }
  return variables;
}

TEST_F(RealSlurm, GivesAJobTheEnvironmentThatSbatchWould) {
  auto request = Request("env");
  request.tasks = 2;
  request.tasks_per_node = 2;
  request.cpus_per_task = 2;
  request.threads_per_core = 1;
  const auto ours = UntilOver(Submit(request));
  const auto conf = "SLURM_CONF=" + *bed_->environment().Get("SLURM_CONF");
  WriteFile(bed_->shared() / "job.sh", request.script);
  const auto theirs = std::stoul(
      bed_->Client({"env", "-i", "-C", bed_->shared().string(), "PATH=/usr/bin:/bin", conf, "sbatch", "--parsable",
                    "--nodes=1", "--ntasks=2", "--ntasks-per-node=2", "--cpus-per-task=2", "--threads-per-core=1",
                    "--time=5", "--job-name=test", "--output=" + request.output, "job.sh"}));
  UntilOver(static_cast<JobId>(theirs));
  const auto expected = Variables(OutputOf(static_cast<JobId>(theirs)));
  EXPECT_EQ(Variables(OutputOf(ours.id)), expected);
}

TEST_F(RealSlurm, ShowsManyJobsInOneAnswer) {
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Submit("sleep 60"));
  ids.push_back(9999);
  std::vector<JobId> found;
  for (const auto& job : Client().Jobs(ids)) found.push_back(job.id);
  ids.pop_back();
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(ids));
  EXPECT_EQ(Client().Job({9999}), std::nullopt);
}

TEST_F(RealSlurm, ShowsJobsOfAnotherOwnerThanTheOneThatIsNamed) {
  const auto another = ::geteuid() + 1;
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Submit("sleep 60"));
  for (const std::size_t asked : {2, 5}) {  // a few are asked about one by one
    std::vector<JobId> numbers(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(asked));
    EXPECT_TRUE(Client().Jobs(numbers, another).empty());
    auto with_unknown = numbers;
    with_unknown.push_back(9999);
    std::vector<JobId> found;
    for (const auto& job : Client().Jobs(with_unknown, another, OwnerIs::kInDoubt)) found.push_back(job.id);
    EXPECT_THAT(found, testing::UnorderedElementsAreArray(numbers));
  }
}

TEST_F(RealSlurm, FindsJobsByTheirComment) {
  auto request = Request("sleep 60");
  request.comment = "slipway 20260101-x/1";
  const auto id = Submit(request);
  request.comment = "slipway 20260101-x/11";
  Submit(request);
  const auto jobs = Client().FindJobs("slipway 20260101-x/1");
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs.front().id, id);
  EXPECT_TRUE(Client().FindJobs("slipway").empty());
}

TEST_F(RealSlurm, CancelsAJob) {
  const auto id = Submit("sleep 60");
  UntilRunning(id);
  Client().Cancel({id});
  EXPECT_EQ(UntilOver(id).state, JobState::kCancelled);
  EXPECT_EQ(TroubleOf([&] { Client().Cancel({id}); }).trouble, SlurmTrouble::kOver);
  EXPECT_EQ(TroubleOf([&] { Client().Cancel({9999}); }).trouble, SlurmTrouble::kUnknownJob);
}

TEST_F(RealSlurm, CancelsAJobThatIsSuspendedAndSignalsItNot) {
  const auto id = Submit("sleep 60");
  UntilRunning(id);
  bed_->Client({"scontrol", "suspend", std::to_string(id)});
  EXPECT_EQ(Until(id, [](const SlurmJob& job) { return job.state == JobState::kSuspended; }).phase(),
            JobPhase::kRunning);
  EXPECT_EQ(TroubleOf([&] { Client().Signal({id}, SIGTERM, SignalTarget::kScript); }).trouble, SlurmTrouble::kNotNow);
  Client().Cancel({id});
  EXPECT_EQ(UntilOver(id).state, JobState::kCancelled);
}

TEST_F(RealSlurm, ActsOnNoJobThatOnlyHasTheNumber) {
  auto request = Request("sleep 60");
  request.comment = "slipway:a";
  const auto id = Submit(request);
  UntilRunning(id);
  const auto own = ::geteuid();
  const auto work_dir = bed_->shared().string();
  for (const auto& meant : {JobIdentity{id, "testbed", "slipway:b", "/elsewhere", own},
                            JobIdentity{id, "testbed", "slipway:a", work_dir, own + 1}}) {
    const auto refused = [&](auto act) { return TroubleOf(act).trouble == SlurmTrouble::kOtherJob; };
    EXPECT_TRUE(refused([&] { Client().Cancel(meant); }));
    EXPECT_TRUE(refused([&] { Client().Signal(meant, SIGKILL, SignalTarget::kAll); }));
    EXPECT_TRUE(refused([&] { Client().Requeue(meant); }));
    EXPECT_EQ(Client().Job(meant), std::nullopt);
  }
  const JobIdentity elsewhere{id, "alpha", "slipway:a", work_dir, own};
  EXPECT_EQ(TroubleOf([&] { Client().Cancel(elsewhere); }).trouble, SlurmTrouble::kOtherCluster);
  EXPECT_EQ(TroubleOf([&] { Client().Job(elsewhere); }).trouble, SlurmTrouble::kOtherCluster);
  EXPECT_EQ(UntilRunning(id).restarts, 0);
  Client().Cancel({id, "testbed", "rewritten by the site", work_dir, own});
  EXPECT_EQ(UntilOver(id).state, JobState::kCancelled);
}

TEST_F(RealSlurm, SendsASignalToTheScript) {
  const auto id = Submit("trap 'echo got it; exit 5' USR1; echo ready; while :; do sleep 0.1; done");
  UntilSaid(id, "ready");
  Client().Signal({id}, SIGUSR1, SignalTarget::kScript);
  EXPECT_EQ(UntilOver(id).status(), (ExitStatus{5, 0}));
  EXPECT_THAT(OutputOf(id), HasSubstr("got it"));
}

TEST_F(RealSlurm, PutsAJobBackIntoTheQueue) {
  const auto id = Submit("echo try; sleep 60");
  UntilSaid(id, "try");
  Client().Requeue({id});
  const auto queued = Until(id, [](const SlurmJob& job) { return job.state == JobState::kPending; });
  EXPECT_EQ(queued.restarts, 1);
  EXPECT_EQ(queued.phase(), JobPhase::kWaiting);
}

TEST_F(RealSlurm, SaysWhyAJobWaits) {
  auto request = Request("sleep 60");
  request.nodes = 2;
  request.exclusive = true;
  Submit(request);
  const auto second = Submit(request);
  const auto third = Submit(request);
  Until(second, [](const SlurmJob& job) { return job.reason == "Resources"; });
  Until(third, [](const SlurmJob& job) { return job.reason == "Priority"; });
  request.dependency = fmt::format("afterok:{}", third);
  Until(Submit(request), [](const SlurmJob& job) { return job.reason == "Dependency"; });
  request.dependency.clear();
  request.hold = true;
  Until(Submit(request), [](const SlurmJob& job) { return job.reason == "JobHeldUser" && job.priority == 0; });
}

TEST_F(RealSlurm, CancelsAJobThatCanNeverStart) {
  auto request = Request("true");
  request.dependency = fmt::format("afterok:{}", Submit("exit 1"));
  request.cancel_on_impossible_dependency = true;
  EXPECT_EQ(UntilOver(Submit(request)).state, JobState::kCancelled);
}

TEST_F(RealSlurm, RunsArrays) {
  auto request = Request("exit $SLURM_ARRAY_TASK_ID");
  request.array = "0-2%2";
  const auto id = Submit(request);
  const auto deadline = SystemClock().Steady() + seconds(60);
  const auto is_over = [](const SlurmJob& job) { return job.phase() == JobPhase::kOver; };
  auto jobs = Client().Jobs(std::span(&id, 1));
  while (!(jobs.size() == 3 && std::all_of(jobs.begin(), jobs.end(), is_over))) {
    ASSERT_LT(SystemClock().Steady(), deadline);
    std::this_thread::sleep_for(milliseconds(100));
    jobs = Client().Jobs(std::span(&id, 1));
  }
  for (const auto& job : jobs) {
    EXPECT_EQ(job.array_job, id);
    EXPECT_EQ(std::to_string(job.exit_code), job.array_tasks);
  }
}

TEST_F(RealSlurm, RefusesWhatCannotBe) {
  auto request = Request("true");
  const auto with = [&](auto change) {
    auto changed = request;
    change(changed);
    return changed;
  };
  EXPECT_EQ(Refusal(with([](auto& job) { job.partition = "moon"; })), SlurmTrouble::kPartition);
  EXPECT_EQ(Refusal(with([](auto& job) { job.account = "alchemy"; })), SlurmTrouble::kAccount);
  EXPECT_EQ(Refusal(with([](auto& job) { job.time_limit_minutes = 61; })), SlurmTrouble::kTime);
  EXPECT_EQ(Refusal(with([](auto& job) { job.nodes = 3; })), SlurmTrouble::kNodes);
  EXPECT_EQ(Refusal(with([](auto& job) { job.constraint = "moon"; })), SlurmTrouble::kResources);
  EXPECT_EQ(Refusal(with([](auto& job) { job.memory_per_node_mib = 1 << 30; })), SlurmTrouble::kResources);
  EXPECT_EQ(Refusal(with([](auto& job) { job.gpus_per_node = "2"; })), SlurmTrouble::kResources);
  EXPECT_EQ(Refusal(with([](auto& job) { job.licenses = "moon:1"; })), SlurmTrouble::kResources);
  EXPECT_EQ(Refusal(with([](auto& job) { job.reservation = "moon"; })), SlurmTrouble::kReservation);
  EXPECT_EQ(Refusal(with([](auto& job) { job.array = "0-5000"; })), SlurmTrouble::kLimit);
  const auto report = TroubleOf([&] { Submit(with([](auto& job) { job.partition = "moon"; })); });
  EXPECT_THAT(report.text, HasSubstr("moon")) << "the name, which only libslurm's own words have";
}

TEST_F(RealSlurm, EstimatesAStartAndSubmitsNothing) {
  auto request = Request("sleep 60");
  request.nodes = 2;
  request.exclusive = true;
  const auto now = std::chrono::floor<seconds>(SystemClock().Now());
  const auto free = Client().EstimateStart(request);
  ASSERT_TRUE(free.start);
  EXPECT_LE(*free.start - now, seconds(30));
  EXPECT_EQ(free.nodes, "n[1-2]");
  EXPECT_EQ(free.partition, "debug");
  UntilRunning(Submit(request));
  const auto taken = Client().EstimateStart(request);
  ASSERT_TRUE(taken.start);
  EXPECT_GE(*taken.start - now, seconds(4 * 60)) << "the job that runs has five minutes";
  EXPECT_EQ(bed_->Client({"squeue", "--noheader", "--format=%T"}), "RUNNING\n");
}

TEST_F(RealSlurm, GivesNoEstimateForWhatItWouldRefuse) {
  const auto refusal = [&](auto change) {
    auto changed = Request("true");
    change(changed);
    return TroubleOf([&] { Client().EstimateStart(changed); }).trouble;
  };
  EXPECT_EQ(refusal([](auto& job) { job.partition = "moon"; }), SlurmTrouble::kPartition);
  EXPECT_EQ(refusal([](auto& job) { job.account = "alchemy"; }), SlurmTrouble::kAccount);
  EXPECT_EQ(refusal([](auto& job) { job.time_limit_minutes = 61; }), SlurmTrouble::kTime);
  EXPECT_EQ(refusal([](auto& job) { job.nodes = 3; }), SlurmTrouble::kNodes);
  EXPECT_EQ(refusal([](auto& job) { job.memory_per_node_mib = 1 << 30; }), SlurmTrouble::kResources);
  bed_->Order({"end", "slurmctld"});
  EXPECT_EQ(refusal([](auto&) {}), SlurmTrouble::kController);
}

TEST_F(RealSlurm, SaysThatTheControllerIsDownAndFindsItAgain) {
  const auto id = Submit("sleep 60");
  UntilRunning(id);
  bed_->Order({"end", "slurmctld"});
  const auto began = SystemClock().Steady();
  EXPECT_EQ(TroubleOf([&] { Client().Job({id}); }).trouble, SlurmTrouble::kController);
  EXPECT_EQ(Refusal(Request("true")), SlurmTrouble::kController);
  EXPECT_LT(SystemClock().Steady() - began, seconds(30)) << "no 59 seconds";
  bed_->Order({"start", "slurmctld"});
  EXPECT_EQ(UntilRunning(id).id, id);
}

TEST_F(RealSlurm, DoesNotWaitForAControllerThatHangs) {
  bed_->Order({"freeze", "slurmctld"});
  SlurmClientOptions options;
  options.environment = bed_->environment();
  options.deadline = milliseconds(1000);
  const auto began = SystemClock().Steady();
  EXPECT_EQ(TroubleOf([&] { SlurmClient(options).Ping(); }).trouble, SlurmTrouble::kTimeout);
  EXPECT_LT(SystemClock().Steady() - began, seconds(30));
  bed_->Order({"thaw", "slurmctld"});
  Client().Ping();
}

TEST_F(RealSlurm, SaysAtOnceThatMungeIsDown) {
  bed_->Order({"end", "munge"});
  const auto began = SystemClock().Steady();
  const auto report = TroubleOf([&] { Client().Ping(); });
  EXPECT_EQ(report.trouble, SlurmTrouble::kAuthentication) << report.text;
  EXPECT_LT(SystemClock().Steady() - began, seconds(30)) << "libslurm itself would try for 49 seconds";
  bed_->Order({"start", "munge"});
  Client().Ping();
}

TEST_F(RealSlurm, SurvivesAWrongConfiguration) {
  const auto wrong = bed_->shared() / "slurm.conf";
  WriteFile(wrong, "ClusterName=x\nNoSuchParameter=1\n");
  SlurmClientOptions options;
  options.environment = Environment(bed_->environment()).Set("SLURM_CONF", wrong.string());
  const auto report = TroubleOf([&] { SlurmClient(options).Ping(); });
  EXPECT_EQ(report.trouble, SlurmTrouble::kHelper);
  EXPECT_THAT(report.text, HasSubstr("NoSuchParameter"));
}

TEST_F(RealSlurm, IsAskedInFewMilliseconds) {
  double least_ms = 1e9;  // the machine may be busy with others in some of them
  for (int i = 0; i < 20; ++i) {
    const auto began = SystemClock().Steady();
    Client().Ping();
    least_ms = std::min(least_ms, std::chrono::duration<double, std::milli>(SystemClock().Steady() - began).count());
  }
  RecordProperty("milliseconds_for_a_ping", std::to_string(least_ms));
  EXPECT_LT(least_ms, 500);
}

}  // namespace
}  // namespace slipway::launcher
