#include "launcher/serve/run_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/view/view_reader.h"

namespace slipway::launcher {
namespace {

/// What changes when a file of the run folder is replaced, or its trial book grows.
struct RunStamp {
  FileStamp state;
  FileStamp folder;
  FileStamp book;
  bool operator==(const RunStamp&) const = default;
};

RunStamp StampOfRun(const RunFolder& run, bool has_growing_book) {
  RunStamp stamp{StampOf(run.path() / "state.json"), StampOf(run.path()), {}};
  if (has_growing_book) stamp.book = StampOf(run.trial_book().string() + "-wal");
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

Json RowWithout(const RunFolder& run, const Error& trouble) {
  return Json{
      {"run", run.id()}, {"folder", run.path().string()}, {"phase", kUnreadable}, {"reason", trouble.message()}};
}

}  // namespace

struct RunList::Entry {
  explicit Entry(RunFolder folder) : run{std::move(folder), {}, {}} {}

  bool HasGrowingBook() const { return run.state && run.state->ensemble && !HasEnded(run.state->phase); }

  RunRow run;
  RunStamp stamp;           ///< when `run` was read
  bool is_settled = false;  ///< `run` stays as it is until `stamp` changes
  SteadyTime look_again{};  ///< when it is not settled
  Json row;
  bool row_is_whole = false;
  SteadyTime row_read{};
};

RunList::RunList(std::filesystem::path runs_directory, Clock& clock)
    : runs_directory_(std::move(runs_directory)), clock_(clock) {}
RunList::~RunList() = default;

void RunList::Adopt(const std::vector<RunFolder>& folders) {
  std::map<std::filesystem::path, std::unique_ptr<Entry>> known;
  for (auto& entry : entries_) {
    auto path = entry->run.run.path();
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
    const auto stamp = StampOfRun(entry->run.run, entry->HasGrowingBook());
    const bool has_changed = stamp != entry->stamp;
    const bool is_due = !entry->is_settled && now >= entry->look_again;
    if (!has_changed && !is_due) continue;
    entry->stamp = stamp;
    entry->row_is_whole = entry->row_is_whole && !has_changed;
    folders.push_back(entry->run.run);
    stale.push_back(entry.get());
  }
  auto rows = ObserveRows(folders);
  states_read_ += rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) Take(std::move(rows[i]), now, *stale[i]);
}

void RunList::Take(RunRow run, SteadyTime now, Entry& entry) {
  const bool in_batch_system = run.state && IsInBatchSystem(run.run, *run.state);
  entry.is_settled = run.state && HasEnded(run.state->phase) && !in_batch_system;
  entry.look_again = now + (in_batch_system ? kAskSlurmEvery : std::chrono::seconds(0));
  const bool is_as_before =
      entry.row_is_whole && run.state && entry.run.state && ToJson(*run.state) == ToJson(*entry.run.state);
  entry.run = std::move(run);
  if (is_as_before) return;
  entry.row_is_whole = !entry.run.state;
  entry.row =
      entry.run.state ? RowOf(ViewOf(entry.run.run, *entry.run.state)) : RowWithout(entry.run.run, *entry.run.trouble);
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
    entry->row = RowOf(ViewReader(entry->run.run).Read(Depth::kGlance, *entry->run.state));
    entry->row_is_whole = true;
    entry->row_read = clock_.Steady();
  }
  return true;
}

Json RunList::Read() {
  Adopt(ListRuns(runs_directory_));
  ReadStates();
  const bool complete = ReadMore();
  Json runs = Json::array();
  for (const auto& entry : entries_) runs.push_back(entry->row);
  return Json{{"schema", "slipway.run-list/1"},
              {"made", UnixSeconds(clock_.Now())},
              {"runs_directory", runs_directory_.string()},
              {"complete", complete},
              {"runs", std::move(runs)}};
}

}  // namespace slipway::launcher
