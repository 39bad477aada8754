#include "launcher/watch/watcher.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/error.h"
#include "launcher/run_folder/pause_note.h"
#include "launcher/view/file_stamp.h"
#include "launcher/view/view_reader.h"
#include "launcher/watch/read_ensemble.h"
#include "launcher/watch/read_single.h"
#include "launcher/watch/read_workflow_run.h"
#include "launcher/watch/run_list.h"

namespace slipway::launcher::watch {
namespace fs = std::filesystem;
namespace {

/// Reading takes at most this part of the time.
constexpr int kRestFactor = 20;

/// A run that is open, with what is known of its files.
struct OpenedRun {
  explicit OpenedRun(RunFolder run) : folder(std::move(run)), reader(folder) {}
  RunFolder folder;
  ViewReader reader;
  Phase phase = Phase::kCreated;
  std::vector<FileStamp> stamps;
  std::vector<FileStamp> log_stamps;
  int reads = 0;
};

std::vector<fs::path> FilesOf(const RunFolder& folder, const RunState& state) {
  const auto& path = folder.path();
  const auto book = folder.trial_book().string();
  std::vector<fs::path> files = {path / "state.json", path / "events.jsonl", PauseNoteOf(path), folder.plan_file()};
  if (state.ensemble) {
    for (const auto* ending : {"", "-wal", "-journal"}) files.emplace_back(book + ending);
    files.push_back(path / "trials.snapshot.db");
    return files;
  }
  const auto attempt = folder.attempt(state.attempt);
  for (const auto* name : {"", "metrics.jsonl", "comm.json", "watch.json"}) files.push_back(attempt / name);
  files.push_back(folder.checkpoints());
  return files;
}

}  // namespace

struct Watcher::Memory {
  explicit Memory(const RunsDirectory& where) : directory(where), list(where), workflow(where) {}

  RunsDirectory directory;
  RunList list;
  WorkflowReader workflow;
  std::optional<OpenedRun> open;
  fs::path path;  ///< that was to be opened
  std::optional<Interest> interest;
  std::shared_ptr<const WatchData> data = std::make_shared<WatchData>();
  SteadyTime next_read{};

  bool RefreshList(const Interest& wanted, WatchData& next) {
    if (!wanted.list || !list.Refresh()) return false;
    next.runs = list.rows();
    next.all_runs_read = list.complete();
    return true;
  }

  /// Forgets everything of the run before.
  void Open(const fs::path& run, WatchData& next) {
    open.reset();
    path = run;
    WatchData fresh;
    fresh.runs = std::move(next.runs);
    fresh.all_runs_read = next.all_runs_read;
    fresh.workflow = std::move(next.workflow);
    next = std::move(fresh);
    if (!run.empty()) open.emplace(directory.Name(RunFolder::Open(run)));
    next_read = {};
  }

  bool ReadRun(const Interest& wanted, WatchData& next) {
    const auto state = open->folder.ReadState();
    auto stamps = StampsOf(FilesOf(open->folder, state));
    const bool same_phase = state.phase == open->phase;  // a run may be lost while its files stay
    // The programs of trials may outlive their manager by a moment: no file changes when they end.
    const bool may_lose_trials = state.phase == Phase::kLost && !next.running.empty();
    const bool same_files = open->reads > 1 && stamps == open->stamps && same_phase && !may_lose_trials;
    const bool same_interest = interest && interest->trial == wanted.trial;
    if (same_files && same_interest) return false;
    const auto begin = SystemClock().Steady();
    if (begin < next_read && same_interest && same_phase) return false;
    ReadView(state, next);
    if (state.ensemble) {
      ReadEnsemble(open->folder, wanted, next);
    } else {
      ReadSingle(open->folder, next);
    }
    ReadPlan(open->folder, next.plan);
    open->stamps = std::move(stamps);
    open->phase = state.phase;
    const auto end = SystemClock().Steady();
    next_read = open->reads++ == 0 ? end : end + kRestFactor * (end - begin);
    return true;
  }

  /// The first time only what is quick to read.
  void ReadView(const RunState& state, WatchData& next) {
    const bool is_first = open->reads == 0;
    const auto usual = state.ensemble ? Depth::kGlance : Depth::kCurves;
    auto view = std::make_shared<RunView>(open->reader.Read(is_first ? Depth::kStates : usual, state));
    view->folder = path.string();
    next.is_whole = !is_first;
    next.trouble.clear();
    next.run = std::move(view);
    next.selector = open->folder.selector();
  }

  bool ReadLogs(const Interest& wanted, WatchData& next) {
    const auto file = wanted.log ? LogFileOf(open->folder, wanted, next) : fs::path();
    auto files = wanted.ranks ? RankLogsOf(open->folder, next) : std::vector<fs::path>();
    if (!file.empty()) files.push_back(file);
    auto stamps = StampsOf(files);
    if (stamps == open->log_stamps && file == next.log.file) return false;
    if (wanted.ranks) TakeSilence(open->folder, next);
    next.log = file.empty() ? LogTail() : ReadLog(file);
    open->log_stamps = std::move(stamps);
    return true;
  }

  bool Refresh(const Interest& wanted, WatchData& next) {
    const auto trouble = next.trouble;
    const bool list_changed = RefreshList(wanted, next);
    try {
      const bool is_another = wanted.run != path;
      if (is_another) Open(wanted.run, next);
      const bool steps_changed = workflow.Refresh(wanted, next);
      if (!wanted.workflow.empty()) next.trouble.clear();
      if (!open) return list_changed || is_another || steps_changed || next.trouble != trouble;
      const bool run_changed = ReadRun(wanted, next);
      const bool log_changed = ReadLogs(wanted, next);
      return list_changed || is_another || steps_changed || run_changed || log_changed;
    } catch (const Error& error) {
      open.reset();  // the next look tries again
      path.clear();
      next.trouble = error.message();
      next.run.reset();
      return next.trouble != trouble || list_changed;
    }
  }
};

Watcher::Watcher(const RunsDirectory& directory) : memory_(std::make_unique<Memory>(directory)) {}
Watcher::Watcher(Watcher&&) noexcept = default;
Watcher::~Watcher() = default;

std::shared_ptr<const WatchData> Watcher::Look(const Interest& interest) {
  auto next = *memory_->data;
  const bool changed = memory_->Refresh(interest, next);
  memory_->interest = interest;
  if (!changed) return memory_->data;
  next.read_at = UnixSeconds(SystemClock().Now());
  memory_->data = std::make_shared<const WatchData>(std::move(next));
  return memory_->data;
}

}  // namespace slipway::launcher::watch
