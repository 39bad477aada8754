#include "launcher/commands/logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/event_loop.h"
#include "ensemble/store/trial_book.h"
#include "launcher/commands/find_run.h"
#include "launcher/monitor/directory_watch.h"
#include "launcher/monitor/line_follower.h"
#include "launcher/monitor/rank_log.h"
#include "launcher/run/folder/run_folder.h"

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
  return fmt::format("has left no log: it is {}{}", TrialStateName(trial.state),
                     trial.reason.empty() ? "" : " (" + trial.reason + ")");
}

/// Nothing: the book, if there is one that can be read, does not know the trial.
std::optional<Error> WhyNoLog(const RunFolder& run, int number) try {
  auto book = ensemble::TrialBook::OpenForReading(run.path());
  const auto trials = book.Trials();
  if (number < 0 || number >= std::ssize(trials)) return std::nullopt;
  const auto why = WhyNoLog(trials[static_cast<std::size_t>(number)], book.Attempts(number));
  return Error(ErrorKind::kUsage, fmt::format("trial {} of run {} {}", number, run.id(), why),
               fmt::format("see what is known of it: slipway trials show {} {}", number, run.id()));
} catch (const Error&) {
  return std::nullopt;
}

fs::path FolderWithAttempts(const RunFolder& run, const LogsOptions& options) {
  if (!options.trial) return run.path();
  const auto folder = run.trials() / fmt::format("{:05}", *options.trial);
  if (fs::is_directory(folder)) return folder;
  if (const auto why = WhyNoLog(run, *options.trial)) throw *why;
  throw Error(ErrorKind::kUsage, fmt::format("run {} has no trial {}", run.id(), *options.trial),
              "list them with: slipway trials ls " + run.id());
}

int LastAttempt(const fs::path& folder) {
  int last = 1;
  while (fs::is_directory(folder / fmt::format("attempt-{}", last + 1))) ++last;
  return last;
}

/// The printed logs of one attempt's folder, file by file, and what is added to them.
class LogPrinter {
 public:
  LogPrinter(fs::path folder, const LogsOptions& options, Output& output)
      : folder_(std::move(folder)), options_(options), output_(output) {}

  void PrintWhatIsThere() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    for (const auto& name : names) Look(name);
  }

  void Look(const std::string& name) {
    const auto rank = RankOfLog(name);
    if (!rank || options_.rank.value_or(*rank) != *rank) return;
    const auto [at, is_new] = followers_.try_emplace(
        name, folder_ / name, [this, rank = *rank](std::string_view line) { PrintLine(rank, line); });
    at->second.Poll();
  }

  void Finish() {
    for (auto& [name, follower] : followers_) follower.Finish();
  }

 private:
  void PrintLine(int rank, std::string_view line) {
    output_.Stream(Json{{"rank", rank}, {"line", line}}, ShownLine(rank, line, options_.prefix));
  }

  fs::path folder_;
  const LogsOptions& options_;
  Output& output_;
  std::map<std::string, LineFollower> followers_;
};

/// Returns when `folder` is there or the run has ended. state.json is replaced at every change, so its folder tells.
void WaitForFolder(const RunFolder& run, const fs::path& folder) {
  EventLoop loop;
  DirectoryWatcher watcher(loop);
  const DirectoryWatch changes(watcher, run.path(), [](const std::string&) {});
  while (!fs::is_directory(folder) && !HasEnded(run.ReadState().phase)) loop.RunOnce(std::chrono::seconds(5));
}

/// Prints as lines come, until the run has ended.
void FollowUntilEnd(const RunFolder& run, const fs::path& folder, LogPrinter& printer) {
  EventLoop loop;
  bool ended = HasEnded(run.ReadState().phase);
  DirectoryWatcher watcher(loop);
  const DirectoryWatch lines(watcher, folder, [&](const std::string& name) { printer.Look(name); });
  const DirectoryWatch states(watcher, run.path(), [&](const std::string& name) {
    if (name == "state.json") ended = HasEnded(run.ReadState().phase);
  });
  printer.PrintWhatIsThere();
  while (!ended) {
    loop.RunOnce(std::chrono::seconds(5));
    ended = ended || HasEnded(run.ReadState().phase);  // also when the manager was killed and wrote nothing
  }
  printer.PrintWhatIsThere();
}

}  // namespace

int Logs(const LogsOptions& options, Session& session) {
  const auto run = FindRun(session, options.run);
  const auto parent = FolderWithAttempts(run, options);
  const int attempt = options.attempt.value_or(LastAttempt(parent));
  const auto folder = parent / fmt::format("attempt-{}", attempt);
  if (options.follow == Follow::kYes && !options.trial && !run.ReadState().ensemble) WaitForFolder(run, folder);
  if (!fs::is_directory(folder)) {
    const bool trials = run.ReadState().ensemble && !options.trial;
    throw Error(ErrorKind::kUsage, fmt::format("run {} has no logs of attempt {}", run.id(), attempt),
                trials ? "it is an ensemble: add --trial N" : "see what it does: slipway status " + run.id());
  }
  LogPrinter printer(folder, options, session.output);
  if (options.follow == Follow::kYes) {
    FollowUntilEnd(run, folder, printer);
  } else {
    printer.PrintWhatIsThere();
  }
  printer.Finish();
  return 0;
}

}  // namespace slipway::launcher
