// The client with a real Slurm of other kinds: with banners, burst buffers, GPUs, threads, a short memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/slurm_client.h"
#include "tests/launcher/cluster/slurm/real_slurm.h"

namespace slipway::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class SlurmThatTalks : public RealSlurm {
  std::vector<std::string> BedOptions() const override { return {"--banner", "Downtime on Monday"}; }
};

TEST_F(SlurmThatTalks, IsUnderstoodThroughItsBanners) {
  const auto submission = Client().Submit(Request("true"));
  EXPECT_GT(submission.job, 0u);
  EXPECT_THAT(submission.message, HasSubstr("Downtime on Monday"));
  auto request = Request("true");
  request.account = "alchemy";
  EXPECT_EQ(Refusal(request), SlurmTrouble::kAccount);
}

class SlurmWithBurstBuffer : public RealSlurm {
 protected:
  std::vector<std::string> BedOptions() const override { return {"--burst-buffer", "datawarp"}; }

  /// Root may not have burst buffers, but may submit for others.
  static std::uint32_t Owner() { return ::geteuid() == 0 ? kNobody : ::geteuid(); }
  SubmitRequest RequestWith(const std::string& directives) const {
    auto request = Request(directives + "\ntrue");
    request.user = Owner();
    request.group = ::geteuid() == 0 ? kNobody : ::getegid();
    return request;
  }

 private:
  static constexpr std::uint32_t kNobody = 65534;
};

TEST_F(SlurmWithBurstBuffer, HoldsAJobWhoseDataIsNotThereAndSaysWhy) {
  EXPECT_EQ(Client().Cluster().burst_buffer, "burst_buffer/datawarp");
  auto request = RequestWith(
      "#DW jobdw capacity=64MiB access_mode=striped type=scratch\n"
      "#DW stage_in source=/nowhere destination=$DW_JOB_STRIPED/data type=directory");
  request.comment = "with buffer";
  const auto id = Submit(request);
  const auto job = Until(id, [](const SlurmJob& each) { return each.priority == 0 && !each.reason_text.empty(); });
  EXPECT_EQ(job.phase(), JobPhase::kWaiting);
  EXPECT_EQ(job.user, Owner());
  EXPECT_THAT(job.reason_text, HasSubstr("data_in"));
  EXPECT_THAT(job.burst_buffer, HasSubstr("#DW stage_in"));
  EXPECT_EQ(Client().FindJobs("with buffer", Owner()).size(), 1u);
}

TEST_F(SlurmWithBurstBuffer, RefusesAWrongDirective) {
  const auto report = TroubleOf([&] { Submit(RequestWith("#DW jobdw capacity=lots access_mode=striped")); });
  EXPECT_EQ(report.trouble, SlurmTrouble::kBurstBuffer) << report.text;
}

class SlurmWithGpus : public RealSlurm {
  std::vector<std::string> BedOptions() const override { return {"--gpus", "2"}; }
};

TEST_F(SlurmWithGpus, GivesThemToJobs) {
  auto request = Request("echo gpus $SLURM_JOB_GPUS");
  request.gpus_per_node = "2";
  EXPECT_EQ(OutputOf(UntilOver(Submit(request)).id), "gpus 0,1\n");
  request.gpus_per_node.clear();
  request.gpus_per_task = "1";
  request.tasks = 1;
  EXPECT_EQ(OutputOf(UntilOver(Submit(request)).id), "gpus 0\n");
  request.gpus_per_task = "3";
  EXPECT_EQ(Refusal(request), SlurmTrouble::kResources);
  EXPECT_THAT(Client().Nodes().front().gres, HasSubstr("gpu:2"));
}

class SlurmWithThreads : public RealSlurm {
  std::vector<std::string> BedOptions() const override {
    return {"--cpus", "16", "--threads", "4", "--conf", "SelectTypeParameters=CR_Core"};
  }
};

TEST_F(SlurmWithThreads, GivesWholeCores) {
  auto request = Request("sleep 60");
  request.tasks = request.tasks_per_node = 1;
  request.cpus_per_task = 3;
  request.threads_per_core = 1;
  UntilRunning(Submit(request));
  UntilRunning(Submit(request));
  const auto third = Submit(request);  // two nodes of four cores, and three of them are taken on each
  Until(third, [](const SlurmJob& job) { return job.reason == "Resources"; });
}

class SlurmWithLittleMemoryByDefault : public RealSlurm {
  std::vector<std::string> BedOptions() const override {
    return {"--conf", "SelectTypeParameters=CR_CPU_Memory", "--conf", "DefMemPerNode=512"};
  }
};

TEST_F(SlurmWithLittleMemoryByDefault, GivesAllOfItToWhoAsksForAll) {
  const auto shown = [&](std::optional<std::int64_t> mebibytes) {
    auto request = Request("sleep 60");
    request.memory_per_node_mib = mebibytes;
    const auto id = Submit(request);
    UntilRunning(id);
    auto text = bed_->Client({"scontrol", "show", "job", std::to_string(id)});
    Client().Cancel({id});
    UntilOver(id);
    return text;
  };
  EXPECT_THAT(shown({}), HasSubstr("MinMemoryNode=512M"));
  EXPECT_THAT(shown(1024), HasSubstr("MinMemoryNode=1G"));
  const auto all = shown(0);
  EXPECT_THAT(all, HasSubstr("MinMemoryNode=0"));
  EXPECT_THAT(all, HasSubstr("mem=4G")) << "all that a node has";
}

class SlurmWithClosedPartitions : public RealSlurm {
  std::vector<std::string> BedOptions() const override {
    return {"--conf", "PartitionName=down Nodes=ALL State=DOWN",
            "--conf", "PartitionName=drain Nodes=ALL State=DRAIN",
            "--conf", "PartitionName=inactive Nodes=ALL State=INACTIVE"};
  }
};

TEST_F(SlurmWithClosedPartitions, TakesJobsWhereNoneStartsAtPresent) {
  auto request = Request("true");
  request.partition = "down";
  Until(Submit(request), [](const SlurmJob& job) { return job.reason == "PartitionDown"; });
  for (const auto* const closed : {"drain", "inactive"}) {
    request.partition = closed;
    EXPECT_EQ(Refusal(request), SlurmTrouble::kClosed) << closed;
  }
}

class SlurmWithoutMemory : public RealSlurm {
  std::vector<std::string> BedOptions() const override { return {"--conf", "MinJobAge=2"}; }
};

TEST_F(SlurmWithoutMemory, ForgetsJobsThatAreOver) {
  const auto id = Submit("true");
  const auto deadline = SystemClock().Steady() + seconds(90);
  while (Client().Job({id}) && SystemClock().Steady() < deadline) std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(Client().Job({id}), std::nullopt);
  EXPECT_EQ(TroubleOf([&] { Client().Requeue({id}); }).trouble, SlurmTrouble::kUnknownJob);
}

}  // namespace
}  // namespace slipway::launcher
