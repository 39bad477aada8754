#include "launcher/run/batch/start_estimate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "launcher/cluster/partition_limits.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/cluster/slurm_conf.h"
#include "launcher/run/batch/submit_job.h"
#include "launcher/run/batch/submit_request.h"

namespace slipway::launcher {
namespace {

using std::chrono::milliseconds;

/// What the answer depends on: the steps of a `foreach` have one.
SubmitRequest KindOf(BatchJob job) {
  job.name.clear();
  job.comment.clear();
  job.directory = "/";
  job.output = "/";
  job.command = {"true"};
  job.environment.clear();
  job.modules.clear();
  return RequestOf(job, {});
}

JobStart Unknown(std::string reason) { return {.outlook = StartOutlook::kUnknown, .reason = std::move(reason)}; }

std::string ReasonOf(const Error& error) {
  auto reason = error.message();
  for (const auto& line : error.context()) reason += "; " + line;
  return reason;
}

JobStart Refused(const Error& error) {
  return {.outlook = StartOutlook::kRefused,
          .reason = ReasonOf(error),
          .next_step = error.next_step(),
          .exit_code = error.exit_code()};
}

bool CannotBeUsed(const SlurmNode& node) {
  return node.state == "DOWN" || std::ranges::find(node.flags, "DRAIN") != node.flags.end();
}

class StartEstimator {
 public:
  StartEstimator(SlurmClientOptions slurm, milliseconds patience)
      : slurm_(std::move(slurm)), end_(SystemClock().Steady() + patience) {
    if (!FindSlurmConf(slurm_.environment)) trouble_ = "no slurm.conf is found";
  }

  JobStart Estimate(BatchJob job) {
    const auto dependency = std::exchange(job.dependency, {});  // Slurm answers as if it were fulfilled
    job.cancel_on_impossible_dependency = false;
    auto start = EstimateAlone(job);
    if (dependency.empty() || start.outlook == StartOutlook::kRefused) return start;
    return {.outlook = StartOutlook::kDependent, .partition = std::move(start.partition)};
  }

 private:
  using Known = std::pair<SubmitRequest, JobStart>;

  JobStart EstimateAlone(const BatchJob& job) {
    try {
      const auto kind = KindOf(job);
      const auto known = std::ranges::find(known_, kind, &Known::first);
      if (known != known_.end()) return known->second;
      return known_.emplace_back(kind, Ask(job)).second;
    } catch (const Error& error) {  // a script that cannot be rendered
      return Refused(error);
    }
  }

  JobStart Ask(const BatchJob& job) {
    if (!trouble_.empty()) return Unknown(trouble_);
    try {
      RequireAPartition(job, Limits());
      return Estimated(EstimateStart(WithinPatience(), job));
    } catch (const SlurmError& error) {
      if (!ConcernsTheJob(error)) return LeaveOut(error);
      return Judge(error);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kUsage ? Refused(error) : LeaveOut(error);
    }
  }

  static bool ConcernsTheJob(const SlurmError& error) {
    return error.kind() == ErrorKind::kUsage || error.trouble() == SlurmTrouble::kRefused;
  }

  /// Slurm is not asked again.
  JobStart LeaveOut(const Error& error) {
    trouble_ = ReasonOf(error);
    return Unknown(trouble_);
  }

  static JobStart Estimated(StartEstimate estimate) {
    if (!estimate.start) return Unknown("the job would wait: " + estimate.held_by);
    return {.outlook = StartOutlook::kEstimated,
            .time = estimate.start,
            .nodes = std::move(estimate.nodes),
            .partition = std::move(estimate.partition)};
  }

  /// Slurm gives one answer for nodes that do not exist and for nodes that are down. With the latter a submission may
  /// succeed.
  JobStart Judge(const SlurmError& error) try {
    const bool may_wait = error.trouble() == SlurmTrouble::kResources || error.trouble() == SlurmTrouble::kRefused;
    const auto unusable = may_wait ? UnusableNodes() : 0;
    if (unusable == 0) return Refused(error);
    return Unknown(fmt::format("{}; {} of the cluster's nodes {} down or drained", ReasonOf(error), unusable,
                               unusable == 1 ? "is" : "are"));
  } catch (const Error&) {
    return Unknown(ReasonOf(error));
  }

  std::ptrdiff_t UnusableNodes() {
    if (!unusable_) unusable_ = std::ranges::count_if(SlurmClient(WithinPatience()).Nodes(), CannotBeUsed);
    return *unusable_;
  }

  const std::vector<PartitionLimits>& Limits() {
    if (!limits_) limits_ = PartitionLimitsOf(SlurmClient(WithinPatience()));
    return *limits_;
  }

  /// Errors: SlurmError(kTimeout) when all of it is used.
  SlurmClientOptions WithinPatience() const {
    const auto left = std::chrono::duration_cast<milliseconds>(end_ - SystemClock().Steady());
    if (left <= milliseconds(0))
      throw SlurmError({SlurmTrouble::kTimeout, 0, "the earlier jobs took all the time", ""});
    auto options = slurm_;
    options.deadline = left;
    return options;
  }

  SlurmClientOptions slurm_;
  SteadyTime end_;
  std::string trouble_;  ///< why Slurm is not asked
  std::optional<std::vector<PartitionLimits>> limits_;
  std::optional<std::ptrdiff_t> unusable_;
  std::vector<Known> known_;
};

std::string TimeInWords(SlurmTime time, WallTime now) {
  if (time <= now + std::chrono::seconds(1)) return "now";
  auto minute = FormatUtc(time).substr(0, 16);  // 2026-11-26T11:24
  minute[10] = ' ';
  return fmt::format("in {} ({} UTC)", FormatDuration(time - now), minute);
}

}  // namespace

WordTable<StartOutlook> WordsOf(StartOutlook) {
  static constexpr Word<StartOutlook> kWords[] = {{StartOutlook::kEstimated, "estimated"},
                                                  {StartOutlook::kDependent, "dependent"},
                                                  {StartOutlook::kUnknown, "unknown"},
                                                  {StartOutlook::kRefused, "refused"}};
  return kWords;
}

std::vector<JobStart> EstimateStarts(const std::vector<BatchJob>& jobs) {
  return EstimateStarts(jobs, {}, std::chrono::seconds(5));
}

std::vector<JobStart> EstimateStarts(const std::vector<BatchJob>& jobs, const SlurmClientOptions& slurm,
                                     milliseconds patience) {
  StartEstimator estimator(slurm, patience);
  std::vector<JobStart> starts;
  for (const auto& job : jobs) starts.push_back(estimator.Estimate(job));
  return starts;
}

std::string WhenInWords(const JobStart& start, WallTime now) {
  switch (start.outlook) {
    case StartOutlook::kEstimated: return TimeInWords(*start.time, now);
    case StartOutlook::kDependent: return "after other jobs";
    case StartOutlook::kRefused: return "refused";
    case StartOutlook::kUnknown: break;
  }
  return "no estimate";
}

Json ToJson(const JobStart& start) {
  return {{"outlook", WordOf(start.outlook)},
          {"time", start.time ? Json(FormatUtc(*start.time)) : Json()},
          {"nodes", start.nodes},
          {"partition", start.partition},
          {"reason", start.reason},
          {"next_step", start.next_step}};
}

}  // namespace slipway::launcher
