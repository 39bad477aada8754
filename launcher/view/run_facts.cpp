#include "launcher/view/run_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/checkpoint.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/likeness.h"
#include "core/text.h"
#include "ensemble/store/trial_book.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/plan/training_command.h"
#include "launcher/plan/workdir.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/ranks/monitor/watch_report.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run/results/stage_out_record.h"
#include "launcher/run/trials/open_book.h"
#include "launcher/run_folder/attempt_files.h"
#include "launcher/run_folder/edited_spec.h"
#include "launcher/run_folder/prepare.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/trials/lost_trials.h"
#include "launcher/trials/trials_documents.h"
#include "launcher/trials/trials_view.h"
#include "launcher/trials/unread_metrics.h"
#include "launcher/view/unfound_file.h"

namespace slipway::launcher {

std::vector<FailureGroup> GroupFailures(const std::vector<TrialFailure>& failures) {
  std::map<std::string, FailureGroup> by_what;
  for (const auto& failure : failures) {
    auto& group = by_what[failure.alike.empty() ? failure.what : failure.alike];
    const bool is_first = group.trials.empty() || failure.trial < *std::ranges::min_element(group.trials);
    if (is_first) group.what = failure.what;
    group.trials.push_back(failure.trial);
  }
  std::vector<FailureGroup> groups;
  for (auto& [what, group] : by_what) {
    std::sort(group.trials.begin(), group.trials.end());
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [](const FailureGroup& a, const FailureGroup& b) {
    if (a.trials.size() != b.trials.size()) return a.trials.size() > b.trials.size();
    return a.trials.front() < b.trials.front();
  });
  return groups;
}

namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLinesOfLog = 10;

/// Of a run that has ended: a job that has left the queue is known for some minutes.
std::optional<SlurmJob> RememberedJob(const RunFolder& folder, const RunState& state) try {
  return SlurmClient().Job(JobOf(folder, state));
} catch (const SlurmError&) {
  return {};
}

void AddJob(const RunFolder& folder, RunFacts& facts) {
  auto observed = std::move(ObserveRuns({folder}).front());
  facts.state = std::move(observed.state);
  facts.job = std::move(observed.job);
  facts.slurm_trouble = std::move(observed.trouble);
  const bool may_tell = HasEnded(facts.state.phase) && facts.state.phase != Phase::kSucceeded;
  if (!facts.job && facts.slurm_trouble.empty() && may_tell && facts.state.batch_job != 0) {
    facts.job = RememberedJob(folder, facts.state);
  }
}

/// The arguments that are a truth value and pass it on as a word.
std::vector<std::string> SwitchesWithValue(const Json& train) {
  std::vector<std::string> names;
  const auto& flags = train.at("flags");
  for (const auto& [name, value] : train.at("args").items()) {
    if (value.is_boolean() && std::find(flags.begin(), flags.end(), name) == flags.end()) names.push_back(name);
  }
  return names;
}

void AddPlan(const RunFolder& folder, RunFacts& facts) try {
  const auto plan = Json::parse(ReadDocument(folder.plan_file()));
  facts.ranks = PlannedRanks(plan);
  const auto& metrics = plan.at("spec").at("train").at("metrics");
  if (metrics.at("from") == "stdout") facts.metrics_pattern = metrics.at("pattern").get<std::string>();
  facts.goes_on_at_limit = plan.at("spec").at("checkpoint").at("on_time_limit") == "requeue";
  facts.works_beside_spec = plan.at("working_directory") == plan.at("spec_directory");
  facts.bare_flags = SwitchesWithValue(plan.at("spec").at("train"));
} catch (const std::exception&) {  // the run never had a plan that can be read: its state says so
}

std::optional<int> Culprit(const RunFacts& facts) {
  const auto named = facts.state.cause ? RankOf(*facts.state.cause) : std::nullopt;
  if (named) return named;
  const auto failed =
      std::find_if(facts.ends.begin(), facts.ends.end(), [](const RankEnd& end) { return !end.status.Success(); });
  return failed == facts.ends.end() ? std::nullopt : std::optional(failed->rank);
}

/// As argparse and click of Python say it: words of a user's program, so for hints only.
bool RefusesAWord(std::string_view lines) {
  return lines.find("unrecognized arguments: ") != std::string_view::npos ||
         lines.find("unexpected extra argument") != std::string_view::npos;
}

/// That of the rank; of another one where it wrote nothing.
LogEnd LogOfRanks(const fs::path& attempt, int first, int ranks) {
  const auto log_of = [&](int rank) {
    return LogEnd{RankLog(attempt, rank), ShownLastLines(RankLog(attempt, rank), kLinesOfLog), rank};
  };
  auto log = log_of(first);
  for (int rank = 0; rank < ranks && log.lines.empty(); ++rank) log = log_of(rank);
  return log.lines.empty() ? LogEnd() : log;
}

/// That of the rank at fault. Where the end of its program is not known: that of what started the ranks, or of the
/// manager.
void AddLog(const RunFolder& folder, const fs::path& attempt, RunFacts& facts) {
  const int first = facts.culprit.value_or(0);
  facts.log = LogOfRanks(attempt, first, facts.ranks);
  const bool ended_by_itself = facts.state.cause && Is<cause::RankFailed>(facts.state.cause);
  using enum RunFacts::Silent;
  if (ended_by_itself && facts.log.rank != first) facts.silent = facts.log.rank ? kCulprit : kAll;
  if (ended_by_itself || facts.log.rank) return;
  for (const auto& file : {attempt / "launcher.log", folder.path() / "manager.log"}) {
    facts.log = {file, ShownLastLines(file, kLinesOfLog)};
    if (!facts.log.lines.empty()) return;
  }
}

/// Checkpoints may lie in a tier as long as the record of that place is there.
bool MayHaveCheckpointInTier(const RunFolder& folder) try {
  return ReadOutboxRecord(folder).has_value();
} catch (const Error&) {
  return true;
}

/// Links are those to files beside the spec.
bool HasFiles(const fs::path& directory) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (fs::is_regular_file(entry->symlink_status(error))) return true;
  }
  return false;
}

/// Empty where it is gone.
fs::path SpecOf(const RunFolder& folder) try {
  auto file = OriginalSpec(folder);
  return IsRegularFile(file) ? file : fs::path();
} catch (const std::exception&) {  // the state says that the plan cannot be read
  return {};
}

/// A pattern that found metrics costs no look at the log.
std::optional<UnmatchedPattern> UnmatchedIn(const fs::path& attempt, const RunFacts& facts) {
  std::error_code none;
  const bool has_reported = fs::file_size(attempt / "metrics.jsonl", none) > 0 && !none;
  if (facts.metrics_pattern.empty() || has_reported) return std::nullopt;
  return FindUnmatched(facts.metrics_pattern, RankLog(attempt, 0));
}

void AddAttempt(const RunFolder& folder, RunFacts& facts) {
  const auto attempt = folder.attempt(facts.state.attempt);
  const auto ends = ReadEnds(attempt, facts.ranks);
  for (int rank = 0; rank < facts.ranks; ++rank) {
    if (ends[static_cast<std::size_t>(rank)]) facts.ends.push_back({rank, *ends[static_cast<std::size_t>(rank)]});
  }
  facts.culprit = Culprit(facts);
  const auto finding = FindWatchReport(attempt);
  if (finding && finding->report) facts.watch = finding->report->message;
  if (facts.state.phase == Phase::kFailed || facts.state.phase == Phase::kLost) {
    AddLog(folder, attempt, facts);
  }
  facts.unmatched = UnmatchedIn(attempt, facts);
  const auto checkpoints = PublishedCheckpoints(folder.checkpoints());
  if (!checkpoints.empty()) facts.checkpoint = checkpoints.front().step;
  facts.may_have_checkpoint = checkpoints.empty() && MayHaveCheckpointInTier(folder);
  facts.has_files = HasFiles(folder.path() / kOwnWorkdir);
}

// ---- trials

/// "failed: exit status 3", "time limit", "no objective: reported no 'loss'". Reasons differ in the trial's own paths
/// and numbers, exit statuses in kind.
TrialFailure HowItFailed(const ensemble::AttemptRecord& attempt) {
  const auto words = OutcomeWords(attempt);
  const bool by_status = attempt.status && !attempt.status->Success();
  const auto more = by_status ? attempt.status->Describe() : std::string(FirstLine(attempt.reason));
  const auto what = more.empty() ? words : words + ": " + more;
  return {attempt.trial, what, by_status ? what : WithoutPathsAndNumbers(what)};
}

fs::path FolderOf(const RunFolder& folder, const ensemble::AttemptRecord& attempt) {
  return folder.path() / TrialFolder(attempt.trial) / AttemptFolder(attempt.number);
}

void TellOfOne(const RunFolder& folder, const ensemble::AttemptRecord& attempt, const std::string& pattern,
               FailureGroup& group) {
  group.has_folder = IsDirectory(folder.path() / TrialFolder(attempt.trial));
  group.log = RankLog(FolderOf(folder, attempt), attempt.rank.value_or(0));
  group.rank = attempt.rank;
  group.host = attempt.host;
  group.last_line = ShownLastLines(group.log, 1);
  group.unreported = attempt.missing;
  if (group.unreported.empty()) return;
  if (!pattern.empty()) group.unmatched = FindUnmatched(pattern, RankLog(FolderOf(folder, attempt), 0));
  group.unread = FindUnreadMetrics(folder.path() / TrialFolder(attempt.trial), {attempt});
}

/// Also those of the budget that have not begun.
bool HaveAllEnded(const std::optional<ensemble::StudyRecord>& study, const std::vector<ensemble::TrialRecord>& trials) {
  if (!study || std::ssize(trials) < study->trials * study->repeats) return false;
  return std::ranges::all_of(trials, ensemble::IsFinal, &ensemble::TrialRecord::state);
}

void AddTrials(const RunFolder& folder, RunFacts& facts) try {
  RequireBook(folder);
  auto book = ensemble::TrialBook::OpenForReading(folder.path());
  auto trials = book.Trials();
  MarkLost(folder.path(), trials);
  facts.trials_ended = HaveAllEnded(book.Study(), trials);
  std::map<ensemble::TrialState, int> counts;
  std::map<ensemble::TrialNumber, ensemble::AttemptRecord> last;
  std::vector<TrialFailure> failures;
  for (const auto& trial : trials) {
    ++counts[trial.state];
    facts.has_results = facts.has_results || HasResult(trial.state);
    auto attempts = trial.state == ensemble::TrialState::kFailed ? book.Attempts(trial.number)
                                                                 : std::vector<ensemble::AttemptRecord>();
    if (attempts.empty()) continue;
    failures.push_back(HowItFailed(attempts.back()));
    last[trial.number] = std::move(attempts.back());
  }
  for (const auto& [state, count] : counts) facts.trials.emplace_back(WordOf(state), count);
  facts.failures = GroupFailures(failures);
  for (auto& group : facts.failures) {
    TellOfOne(folder, last.at(group.trials.front()), facts.metrics_pattern, group);
  }
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kUsage) return;  // no book yet
  facts.trials_trouble = error.message();
  facts.trials_remedy = error.next_step();
}

/// What ranks wrote last: that of the run, or of a trial of each group.
std::vector<std::string_view> LastWords(const RunFacts& facts) {
  std::vector<std::string_view> words;
  if (facts.log.rank) words.emplace_back(facts.log.lines);
  for (const auto& group : facts.failures) words.emplace_back(group.last_line);
  return words;
}

void AddHintsFromLastWords(RunFacts& facts) {
  const auto words = LastWords(facts);
  if (std::none_of(words.begin(), words.end(), RefusesAWord)) facts.bare_flags.clear();
  if (facts.spec_file.empty() || facts.works_beside_spec) return;
  for (const auto lines : words) {
    facts.unfound = UnfoundFile(lines, facts.spec_file.parent_path());
    if (!facts.unfound.empty()) return;
  }
}

void AddStored(const RunFolder& folder, RunFacts& facts) {
  facts.selector = folder.selector();
  AddPlan(folder, facts);
  facts.spec_file = SpecOf(folder);
  facts.slipway = InstallPrefix() / "bin" / "slipway";
  facts.manager_began = folder.ReadState().phase != Phase::kQueued;
  facts.restarts = folder.CountEvents("restarting");
  if (facts.state.ensemble) {
    AddTrials(folder, facts);
  } else if (facts.state.attempt > 0) {
    AddAttempt(folder, facts);
  }
  AddHintsFromLastWords(facts);
}

}  // namespace

RunFacts GatherFacts(const RunFolder& folder) {
  RunFacts facts;
  AddJob(folder, facts);
  AddStored(folder, facts);
  return facts;
}

RunFacts GatherStoredFacts(const RunFolder& folder) {
  RunFacts facts;
  facts.state = folder.ReadState();
  AddStored(folder, facts);
  return facts;
}

}  // namespace slipway::launcher
