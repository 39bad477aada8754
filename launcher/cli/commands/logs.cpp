#include "launcher/cli/commands/logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/event_loop.h"
#include "core/files.h"
#include "ensemble/store/trial_book.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/log_printer.h"
#include "launcher/cli/commands/step_logs.h"
#include "launcher/plan/training_command.h"
#include "launcher/ranks/monitor/directory_watch.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/batch/batch_wait.h"
#include "launcher/run/manager_process.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run_folder/attempt_files.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

using ensemble::AttemptRecord;
using ensemble::TrialRecord;

/// Someone outside ran it, who was given it by ask/tell.
bool RanOutside(const AttemptRecord& attempt) { return attempt.started && !attempt.process; }

/// Why a trial that is in the book has no folder.
std::string WhyNoLog(const TrialRecord& trial, const std::vector<AttemptRecord>& attempts) {
  if (trial.origin == ensemble::kImportedOrigin) return "was imported: it ran elsewhere, and its output stayed there";
  if (attempts.empty() && trial.reason.empty()) return "has not begun";
  if (attempts.empty()) return fmt::format("never ran ({})", trial.reason);
  if (std::ranges::any_of(attempts, RanOutside)) {
    return "was given out by 'trials ask' or 'serve': what it wrote is where its program ran";
  }
  return fmt::format("has left no log: it is {}{}", WordOf(trial.state),
                     trial.reason.empty() ? "" : " (" + trial.reason + ")");
}

/// Nothing: the book, if there is one that can be read, does not know the trial.
std::optional<Error> WhyNoLog(const RunFolder& run, int number) try {
  auto book = ensemble::TrialBook::OpenForReading(run.path());
  const auto trials = book.Trials();
  if (number < 0 || number >= std::ssize(trials)) return std::nullopt;
  const auto why = WhyNoLog(trials[static_cast<std::size_t>(number)], book.Attempts(number));
  return Error(ErrorKind::kUsage, fmt::format("trial {} of run {} {}", number, run.id(), why),
               fmt::format("see what is known of it: slipway trials show {} {}", number, run.selector()));
} catch (const Error&) {
  return std::nullopt;
}

fs::path FolderWithAttempts(const RunFolder& run, const LogsOptions& options) {
  if (!options.trial) return run.path();
  const auto folder = run.trials() / fmt::format("{:05}", *options.trial);
  if (fs::is_directory(folder)) return folder;
  if (const auto why = WhyNoLog(run, *options.trial)) throw *why;
  throw Error(ErrorKind::kUsage, fmt::format("run {} has no trial {}", run.id(), *options.trial),
              "list them with: slipway trials ls " + run.selector());
}

/// Nothing: the plan cannot be read.
std::optional<int> RanksOf(const RunFolder& run) try {
  return PlannedRanks(Json::parse(ReadDocument(run.plan_file())));
} catch (const std::exception&) {
  return {};
}

/// An attempt before `resume --set` may have had more ranks than the plan has now.
void RequireRank(const RunFolder& run, const fs::path& attempt, int rank) {
  const auto ranks = RanksOf(run);
  if (!ranks || rank < *ranks || Exists(RankLog(attempt, rank))) return;
  throw Error(ErrorKind::kUsage,
              *ranks == 1 ? fmt::format("run {} has no rank {}: its only rank is 0", run.id(), rank)
                          : fmt::format("run {} has no rank {}: it has ranks 0 to {}", run.id(), rank, *ranks - 1),
              "name one of these, or leave --rank out to see all");
}

int LastAttempt(const fs::path& folder) {
  int last = 1;
  while (fs::is_directory(folder / AttemptFolder(last + 1))) ++last;
  return last;
}

bool IsBatchRun(const RunFolder& run) { return IsInBatchSystem(run, run.ReadState()); }

/// Until `folder` is there or the run has ended, which of a job that ends before its manager begins only Slurm tells.
void WaitForFolderOfBatchRun(const RunFolder& run, const fs::path& folder) {
  WaitForBatchEnd(run, {}, [&](std::chrono::nanoseconds longest) {
    if (fs::is_directory(folder)) return false;
    return SleepOn(longest);
  });
}

/// What other hosts write does not show as an event. So files are looked at without one, too.
constexpr auto kLookPause = std::chrono::seconds(1);

/// Returns when `folder` is there or the run has ended. state.json is replaced at every change, so its folder tells.
void WaitForFolder(const RunFolder& run, const fs::path& folder) {
  if (IsBatchRun(run)) return WaitForFolderOfBatchRun(run, folder);
  EventLoop loop;
  DirectoryWatcher watcher(loop);
  const DirectoryWatch changes(watcher, run.path(), [](const std::string&) {});
  StateReader states(run);
  while (!fs::is_directory(folder) && !HasEnded(states.Read().phase)) loop.RunOnce(kLookPause);
}

void FollowBatchRunUntilEnd(const RunFolder& run, LogPrinter& printer) {
  WaitForBatchEnd(run, {}, [&](std::chrono::nanoseconds longest) {
    printer.PrintWhatIsThere();
    return SleepOn(longest);
  });
  printer.PrintWhatIsThere();
}

/// Prints as lines come, until the run has ended.
void FollowUntilEnd(const RunFolder& run, const fs::path& folder, LogPrinter& printer) {
  if (IsBatchRun(run)) return FollowBatchRunUntilEnd(run, printer);
  EventLoop loop;
  StateReader states(run);
  DirectoryWatcher watcher(loop);
  const DirectoryWatch lines(watcher, folder, [&](const std::string& name) { printer.Look(name); });
  auto looked = SystemClock().Steady();
  bool ended = false;
  const auto look = [&] {
    ended = HasEnded(states.Read().phase);  // first: what is printed then is all
    printer.PrintWhatIsThere();
    looked = SystemClock().Steady();
  };
  const DirectoryWatch changes(watcher, run.path(), [&](const std::string& name) {
    if (name == "state.json") look();
  });
  for (look(); !ended;) {
    const auto left = looked + kLookPause - SystemClock().Steady();
    left > std::chrono::nanoseconds(0) ? loop.RunOnce(left) : look();
  }
}

bool HasNotBegun(const RunFolder& run, const LogsOptions& options) {
  return !options.attempt && !options.trial && !fs::is_directory(run.attempt(1)) && !fs::is_directory(run.trials());
}

/// What the job of a run whose ranks never began has to say; false: nothing.
bool PrintManagerLog(const RunFolder& run, Output& output) {
  const auto file = run.path() / "manager.log";
  const auto text = ReadFileIfPresent(file);
  if (!text || text->empty()) return false;
  output.Say(fmt::format("no rank of it has begun; this is {}", file.string()));
  LineFollower lines(file, [&](std::string_view line) { output.Stream(Json{{"line", line}}, line); });
  lines.Poll();
  lines.Finish();
  return true;
}

}  // namespace

int Logs(const LogsOptions& options, Session& session) {
  if (const auto step = FindStep(session, options.run)) return StepLogs(step->run, step->step, options, session);
  const auto run = FindRun(session, options.run);
  if (IsWorkflowRun(run)) return StepLogs(run, {}, options, session);
  const auto parent = FolderWithAttempts(run, options);
  const int attempt = options.attempt.value_or(LastAttempt(parent));
  const auto folder = parent / AttemptFolder(attempt);
  if (options.rank) RequireRank(run, folder, *options.rank);
  if (options.follow == Follow::kYes && !options.trial && !run.ReadState().ensemble) WaitForFolder(run, folder);
  if (HasNotBegun(run, options) && PrintManagerLog(run, session.output)) return 0;
  if (!fs::is_directory(folder)) {
    const bool trials = run.ReadState().ensemble && !options.trial;
    throw Error(ErrorKind::kUsage, fmt::format("run {} has no logs of attempt {}", run.id(), attempt),
                trials ? "it is an ensemble: add --trial N" : "see what it does: slipway status " + run.selector());
  }
  LogPrinter printer(folder, {options.rank, options.prefix}, session.output);
  if (options.follow == Follow::kYes) {
    FollowUntilEnd(run, folder, printer);
  } else {
    printer.PrintWhatIsThere();
  }
  printer.Finish();
  return 0;
}

}  // namespace slipway::launcher
