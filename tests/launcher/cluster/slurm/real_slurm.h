// The client with a real Slurm of two nodes.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/files.h"
#include "core/install.h"
#include "launcher/cluster/slurm_client.h"
#include "tests/support/slurm_bed.h"

namespace slipway::launcher {

class RealSlurm : public testing::Test {
 protected:
  void SetUp() override {
    if (!ModuleIsBuilt()) GTEST_SKIP() << "built without libslurm-dev";
    if (const auto reason = test::SlurmBed::WhyNot(); !reason.empty()) GTEST_SKIP() << reason;
    auto options = BedOptions();
    options.insert(options.end(), {"--nodes", "2"});
    bed_.emplace(options);
  }
  virtual std::vector<std::string> BedOptions() const { return {}; }

  static bool ModuleIsBuilt() {
    std::error_code error;
    return std::filesystem::exists(LibraryDirectory() / "slipway" / "slurm", error);
  }

  SlurmClient Client() const {
    SlurmClientOptions options;
    options.environment = bed_->environment();
    return SlurmClient(std::move(options));
  }

  SubmitRequest Request(const std::string& commands) const {
    SubmitRequest request;
    request.name = "test";
    request.script = "#!/bin/sh\n" + commands + "\n";
    request.environment = {"PATH=/usr/bin:/bin"};
    request.work_dir = bed_->shared().string();
    request.output = (bed_->shared() / "%j.out").string();
    request.time_limit_minutes = 5;
    return request;
  }
  JobId Submit(const SubmitRequest& request) const { return Client().Submit(request).job; }
  JobId Submit(const std::string& commands) const { return Submit(Request(commands)); }

  std::string OutputOf(JobId id) const { return ReadFile(bed_->shared() / fmt::format("{}.out", id)); }

  /// Asks until the job is as wanted; fails after a minute.
  template <class Condition>
  SlurmJob Until(JobId id, Condition is_so) const {
    const auto deadline = SystemClock().Steady() + std::chrono::seconds(60);
    std::optional<SlurmJob> job;
    while (SystemClock().Steady() < deadline) {
      job = Client().Job({id});
      if (job && is_so(*job)) return *job;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << "job " << id << ": " << (job ? InWords(job->state, job->flags) + ", " + job->reason : "unknown");
    return job.value_or(SlurmJob());
  }
  SlurmJob UntilOver(JobId id) const {
    return Until(id, [](const SlurmJob& job) { return job.phase() == JobPhase::kOver; });
  }
  SlurmJob UntilRunning(JobId id) const {
    return Until(id, [](const SlurmJob& job) { return job.state == JobState::kRunning; });
  }
  /// Until the script has written `text` to its output.
  void UntilSaid(JobId id, const std::string& text) const {
    Until(id, [&](const SlurmJob&) {
      const auto path = bed_->shared() / fmt::format("{}.out", id);
      return ReadFileIfPresent(path).value_or("").find(text) != std::string::npos;
    });
  }

  template <class Action>
  TroubleReport TroubleOf(Action action) const {
    try {
      action();
    } catch (const SlurmError& error) {
      return error.report();
    }
    ADD_FAILURE() << "no error";
    return {};
  }
  SlurmTrouble Refusal(const SubmitRequest& request) const {
    return TroubleOf([&] { Submit(request); }).trouble;
  }

  std::optional<test::SlurmBed> bed_;
};

}  // namespace slipway::launcher
