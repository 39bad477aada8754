#include "launcher/cli/commands/step_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "core/documents.h"
#include "core/error.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/run/batch/batch_wait.h"
#include "launcher/run/manager_process.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run/workflow/workflow_status.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

fs::path LogOfStep(const RunFolder& folder, const std::string& step) { return StepFolder(folder, step) / "log"; }

/// What a step has printed stays when its result is removed.
void WarnOfRemoved(const RunFolder& folder, const std::string& step, Output& output) {
  auto removed = StepsWithRemovedResult(folder);
  if (!step.empty()) std::erase_if(removed, [&](const std::string& name) { return name != step; });
  if (removed.empty()) return;
  output.Warn(fmt::format("the result of step '{}'{} was removed; make it again with: slipway resume {}", removed[0],
                          removed.size() > 1 ? fmt::format(" and of {} more", removed.size() - 1) : "",
                          folder.selector()));
}

void RefuseOptionsOfRanks(const RunFolder& folder, const LogsOptions& options) {
  if (!options.rank && !options.trial && !options.attempt) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("--rank, --trial and --attempt are of experiments, and this is a step or the run of workflow {}",
                  folder.id()),
      fmt::format("name a step that is an experiment: slipway logs {}/STEP", folder.selector()));
}

std::vector<std::string> StepsToPrint(const RunFolder& folder, const std::string& step) {
  std::vector<std::string> names;
  for (const auto& stored : ReadStoredWorkflow(folder).steps) names.push_back(stored.name);
  if (step.empty()) return names;
  if (std::ranges::find(names, step) == names.end()) throw NoSuchStep(step, names);
  return {step};
}

/// Prints what is there and what is appended.
class StepPrinter {
 public:
  StepPrinter(const RunFolder& folder, const std::vector<std::string>& steps, LinePrefix prefix, Output& output)
      : folder_(folder), named_(steps.size() > 1 && prefix == LinePrefix::kRank), output_(output) {
    for (const auto& step : steps) logs_.push_back({step, FollowerOf(step, LogOfStep(folder, step))});
  }

  void Look(const std::set<std::string>& ended) {
    for (auto& log : logs_) ended.contains(log.step) ? Finish(log) : Poll(log);
  }

  void Finish() {
    for (auto& log : logs_) Finish(log);
  }

 private:
  struct Log {
    std::string step;
    LineFollower lines;
    bool finished = false;
  };

  LineFollower FollowerOf(const std::string& step, const fs::path& file) {
    return LineFollower(file, [this, step](std::string_view line) { PrintLine(step, line); });
  }

  /// `resume` may begin a step of a submitted workflow once more.
  static void Poll(Log& log) {
    log.finished = false;
    log.lines.Poll();
  }

  /// The step has ended: prints also a last line that has no newline, and what a job says that started no program.
  /// Closes its file, as a workflow may have thousands of steps.
  void Finish(Log& log) {
    if (std::exchange(log.finished, true)) return;
    log.lines.Finish();
    if (!fs::exists(LogOfStep(folder_, log.step))) FollowerOf(log.step, LogOfStepJob(folder_, log.step)).Finish();
  }

  void PrintLine(const std::string& step, std::string_view line) {
    output_.Stream(Json{{"step", step}, {"line", line}},
                   named_ ? fmt::format("[{}] {}", step, line) : std::string(line));
  }

  const RunFolder& folder_;
  const bool named_;
  Output& output_;
  std::deque<Log> logs_;
};

/// Those to which nothing more happens.
std::set<std::string> EndedOf(const RunFolder& folder, const std::set<std::string>& steps) {
  std::set<std::string> ended;
  for (const auto& [step, record] : ReadRecordsOf(folder.path(), steps)) {
    if (steps.contains(step) && IsFinal(record.state)) ended.insert(step);
  }
  return ended;
}

void FollowSteps(const RunFolder& folder, const std::set<std::string>& steps, StepPrinter& printer) {
  StateReader states(folder);
  const Observe read = [&](const RunFolder&) { return states.Read(); };
  WaitForBatchEnd(
      folder, {},
      [&](std::chrono::nanoseconds longest) {
        const auto ended = EndedOf(folder, steps);  // first: what is printed then is all
        printer.Look(ended);
        return ended.size() < steps.size() && SleepOn(longest);
      },
      HasStepJobs(folder) ? ObserveWorkflow : read);
  printer.Finish();
}

}  // namespace

int StepLogs(const RunFolder& folder, const std::string& step, const LogsOptions& options, Session& session) {
  const auto steps = StepsToPrint(folder, step);
  RefuseOptionsOfRanks(folder, options);
  WarnOfRemoved(folder, step, session.output);
  if (options.follow == Follow::kYes) {
    StepPrinter printer(folder, steps, options.prefix, session.output);
    FollowSteps(folder, {steps.begin(), steps.end()}, printer);
    return 0;
  }
  Json document{{"schema", "slipway.workflow.logs/1"}, {"run", folder.id()}, {"logs", Json::object()}};
  std::string text;
  for (const auto& name : steps) {
    auto log = ReadDocumentIfPresent(LogOfStep(folder, name));
    if (!log) log = ReadDocumentIfPresent(LogOfStepJob(folder, name));  // of a job that started nothing
    if (!log) continue;
    document["logs"][name] = *log;
    text += step.empty() ? fmt::format("==> {} <==\n{}", name, *log) : *log;
  }
  session.output.Print({document, text, text});
  return 0;
}

}  // namespace slipway::launcher
