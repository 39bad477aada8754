#include "launcher/serve/run_list.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launcher/run/workflow/run_looks.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/view/best_of_run.h"
#include "launcher/view/view_reader.h"

namespace slipway::launcher {
namespace {

/// What changes when a file of the run folder is replaced, or its results grow.
struct RunStamp {
  FileStamp state;
  FileStamp folder;
  std::vector<FileStamp> results;
  bool operator==(const RunStamp&) const = default;
};

/// `state`: as it was read last; nothing: not yet.
RunStamp StampOfRun(const RunFolder& run, const std::optional<RunState>& state) {
  RunStamp stamp{StampOf(run.path() / "state.json"), StampOf(run.path()), {}};
  if (!state || HasEnded(state->phase)) return stamp;
  if (IsWorkflowRun(run)) {
    stamp.results = StampsOf(FilesOfWorkflowRun(run));
    return stamp;
  }
  stamp.results = StampsOf({state->ensemble ? run.trial_book().string() + "-wal"
                                            : (run.attempt(state->attempt) / "metrics.jsonl").string()});
  return stamp;
}

constexpr const char* kShown[] = {"run",     "folder",  "name",  "kind",        "phase", "reason",   "attempt", "nodes",
                                  "created", "started", "ended", "description", "tags",  "progress", "best"};

/// The columns of the list.
Json RowOf(RunView view) {
  view.trials.reset();  // not shown, and large
  view.events.clear();
  auto whole = ToJson(view);
  Json row;
  for (const char* name : kShown) row[name] = std::move(whole[name]);
  return row;
}

Json FirstRowOf(const RunFolder& run, const RunState& state) {
  auto row = RowOf(ViewOf(run, state));
  if (IsWorkflowRun(run)) row["kind"] = "workflow";
  return row;
}

Json ValuesOf(const std::map<std::string, double>& metrics) {
  Json values = Json::object();
  for (const auto& [name, value] : metrics) values[name] = std::isfinite(value) ? Json(value) : Json();
  return values;
}

/// With how far a single run is, and its last values. `state` has them only at its end.
Json RowOfSingle(const RunFolder& run, const RunState& state, RunView view) {
  const auto last = LastReportOf(run, state.attempt);
  const auto& metrics = state.metrics.empty() && last ? last->metrics : state.metrics;
  const auto best = BestOfMetrics(metrics, "");
  if (best && std::isfinite(best->value)) view.best = best;
  auto row = RowOf(std::move(view));
  if (last && last->step)
    row["progress"] = Json{{"done", *last->step}, {"total", nullptr}, {"unit", "steps"}, {"left_s", nullptr}};
  row["metrics"] = ValuesOf(metrics);
  return row;
}

/// How many of its steps need nothing more, by their journals. Those that failed or were cancelled do.
Json RowOfWorkflow(const RunFolder& run, const RunState& state) {
  auto row = FirstRowOf(run, state);
  auto records = ReadStepJournal(run.path());
  const auto steps = ReadStoredWorkflow(run).steps;
  const auto done = std::ranges::count_if(steps, [&](const auto& step) {
    const auto now = records[step.name].state;
    return HasResult(now) || now == StepState::kSkipped;
  });
  row["progress"] = Json{{"done", done}, {"total", steps.size()}, {"unit", "steps"}, {"left_s", nullptr}};
  return row;
}

Json WholeRowOf(const RunFolder& run, const RunState& state) {
  if (IsWorkflowRun(run)) return RowOfWorkflow(run, state);
  auto view = ViewReader(run).Read(Depth::kGlance, state);
  return state.ensemble ? RowOf(std::move(view)) : RowOfSingle(run, state, std::move(view));
}

Json RowWithout(const RunFolder& run, const Error& trouble) {
  return Json{
      {"run", run.id()}, {"folder", run.path().string()}, {"phase", kUnreadable}, {"reason", trouble.message()}};
}

Json WholeRowOrTrouble(const RunFolder& run, const RunState& state) try {
  return WholeRowOf(run, state);
} catch (const Error& trouble) {
  return RowWithout(run, trouble);
}

}  // namespace

struct RunList::Entry {
  explicit Entry(RunFolder folder) : run{std::move(folder), {}, {}} {}

  RunRow run;
  RunStamp stamp;           ///< when `run` was read
  bool is_settled = false;  ///< `run` stays as it is until `stamp` changes
  SteadyTime look_again{};  ///< when it is not settled
  Json row;
  bool row_is_whole = false;
  SteadyTime row_read{};
};

RunList::RunList(RunsDirectory directory, Clock& clock) : directory_(std::move(directory)), clock_(clock) {}
RunList::~RunList() = default;

void RunList::Adopt(const std::vector<RunFolder>& folders) {
  std::map<std::filesystem::path, std::unique_ptr<Entry>> known;
  for (auto& entry : entries_) {
    auto path = entry->run.folder.path();
    known[std::move(path)] = std::move(entry);
  }
  entries_.clear();
  for (const auto& folder : folders) {
    auto& entry = known[folder.path()];
    entries_.push_back(entry ? std::move(entry) : std::make_unique<Entry>(folder));
  }
}

void RunList::ReadStates() {
  const auto now = clock_.Steady();
  std::vector<RunFolder> folders;
  std::vector<Entry*> stale;
  for (const auto& entry : entries_) {
    const auto stamp = StampOfRun(entry->run.folder, entry->run.state);
    const bool is_replaced = stamp.state != entry->stamp.state || stamp.folder != entry->stamp.folder;
    const bool is_due = !entry->is_settled && now >= entry->look_again;
    if (stamp != entry->stamp) entry->row_is_whole = !entry->run.state;
    entry->stamp = stamp;
    if (!is_replaced && !is_due) continue;
    folders.push_back(entry->run.folder);
    stale.push_back(entry.get());
  }
  auto rows = ObserveAllRows(folders);
  states_read_ += rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) Take(std::move(rows[i]), clock_.Steady(), *stale[i]);
}

void RunList::Take(RunRow run, SteadyTime now, Entry& entry) {
  const bool by_slurm = run.state && IsCarriedOutBySlurm(run.folder, *run.state);
  entry.is_settled = run.state && HasEnded(run.state->phase) && !by_slurm;
  entry.look_again = now + (by_slurm ? kAskSlurmEvery : std::chrono::seconds(0));
  const bool is_as_before =
      entry.row_is_whole && run.state && entry.run.state && ToJson(*run.state) == ToJson(*entry.run.state);
  entry.run = std::move(run);
  if (is_as_before) return;
  entry.row_is_whole = !entry.run.state;
  entry.row = entry.run.state ? FirstRowOf(entry.run.folder, *entry.run.state)
                              : RowWithout(entry.run.folder, *entry.run.trouble);
}

/// False when there was no time for all.
bool RunList::ReadMore() {
  std::vector<Entry*> stale;
  for (const auto& entry : entries_) {
    if (!entry->row_is_whole) stale.push_back(entry.get());
  }
  std::ranges::reverse(stale);  // the newest first, but none waits for ever
  std::ranges::stable_sort(stale, {}, &Entry::row_read);
  const auto deadline = clock_.Steady() + kPatience;
  for (auto* entry : stale) {
    if (clock_.Steady() >= deadline) return false;
    entry->row = WholeRowOrTrouble(entry->run.folder, *entry->run.state);
    entry->row_is_whole = true;
    entry->row_read = clock_.Steady();
  }
  return true;
}

Json RunList::Read() {
  Adopt(ListRuns(directory_));
  ReadStates();
  const bool complete = ReadMore();
  Json runs = Json::array();
  for (const auto& entry : entries_) runs.push_back(entry->row);
  return Json{{"schema", "slipway.run-list/1"},
              {"made", UnixSeconds(clock_.Now())},
              {"runs_directory", directory_.path.string()},
              {"complete", complete},
              {"runs", std::move(runs)}};
}

}  // namespace slipway::launcher
