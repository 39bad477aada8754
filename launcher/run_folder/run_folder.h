/// The folder of one run: its layout, its state, its record of events.
///
/// It can be copied away and still be read. Layout: docs/reference/run-folder.md.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/files.h"
#include "core/json.h"
#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

/// The mode of plan.json and job.sh: only the owner can read them.
inline constexpr mode_t kPlanMode = 0600;

/// Held by the run's manager; its text names the process.
inline constexpr const char* kManagerLock = ".manager.lock";

struct RunsDirectory;

class RunFolder {
 public:
  /// Makes runs/<name>-<yyyymmdd-hhmmss>-<4 hex> with state `created`. The folder becomes durable with the next durable
  /// file. Errors: SystemError.
  static RunFolder Create(const std::filesystem::path& runs_directory, const std::string& name, bool ensemble);
  /// Prepares `path` as the folder of a trial of `run` that has its own manager. Existing files stay, except the state.
  /// Errors: SystemError.
  static RunFolder BeginTrial(const std::filesystem::path& path, const RunFolder& run);
  /// Errors: Error(kUsage) when there is no run folder; SystemError when it cannot be read.
  static RunFolder Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::string id() const { return path_.filename().string(); }
  /// How a command that a message advises finds it: by its id, or by the path that the user gave. Quoted for the shell.
  std::string selector() const { return selector_.empty() ? id() : selector_; }
  void SetSelector(const std::string& given);

  std::filesystem::path spec_file() const { return path_ / "spec.yaml"; }
  /// It holds values of variables that the spec only names, which may be secret. So it is written with kPlanMode.
  std::filesystem::path plan_file() const { return path_ / "plan.json"; }
  /// Also written with kPlanMode.
  std::filesystem::path provenance_file() const { return path_ / "provenance.json"; }
  std::filesystem::path energy_file() const { return path_ / "energy.json"; }
  std::filesystem::path gpus_file() const { return path_ / "gpus.json"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path trials() const { return path_ / "trials"; }
  /// Links to data read in place, and the lists of shares.
  std::filesystem::path data() const { return path_ / "data"; }
  std::filesystem::path trial_book() const { return path_ / "trials.db"; }
  std::filesystem::path attempt(int number) const;

  /// The stored state. It reads as `lost` if the run has not ended and its manager, on this host, is gone, or owns
  /// another folder, of which this one is a copy. A submitted run without a manager keeps its state: Slurm says what
  /// follows (ObserveRun). A run that is ready for its trials has no manager yet. While the run stands still, the
  /// reason says what it waits for; of a manager on another host, that it may be gone. Commands that the reason advises
  /// name the run by its selector. Cost: for an active run also that of FindManagerElsewhere, or of
  /// DoubtManagerElsewhere.
  RunState ReadState() const;
  /// Names the run by the selector in the commands that the reason advises. A stored reason, and that of a new end, has
  /// the id: of a copy that of the original, and elsewhere no command finds it.
  void NameInReason(RunState& state) const;
  /// Atomic and durable. Cost: two syncs.
  void WriteState(const RunState& state) const;

  /// One line of events.jsonl: time, event, and the members of `more`.
  void AppendEvent(std::string_view event, const Json& more) const;
  /// Calls `take` for each line of events.jsonl, in order; passes over lines that are no JSON object. Without the file
  /// there are none. Errors: those of ReadDocument; those of `take`. Cost: reads the file.
  void ForEachEvent(const std::function<void(const Json&)>& take) const;
  /// The number of these events. Errors and cost: as ForEachEvent.
  int CountEvents(std::string_view event) const;

  /// Takes the lock of the run's only manager. Waits 200 ms: who looks at the lock holds it for a moment. To go on with
  /// a run that has ended, give its state as `before`: then it waits 30 s for the lock of its last manager, or until
  /// another one takes the run up. The agents of a manager end after the run, and what a killed one was just starting
  /// holds its lock until its exec. Errors: Error(kBusy) naming the manager, also when this is a copy of a folder that
  /// its manager still uses.
  FileLock TakeManagerLock(const std::optional<RunState>& before = {}, Clock& clock = SystemClock()) const;

 private:
  friend std::vector<RunFolder> ListRuns(const RunsDirectory& directory);
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::string selector_;
};

/// Where runs are, and how the commands that a message advises find them.
struct RunsDirectory {
  // NOLINTNEXTLINE(google-explicit-constructor): most callers advise no command
  RunsDirectory(std::filesystem::path where, std::filesystem::path as_given = {})
      : path(std::move(where)), given(std::move(as_given)) {}

  std::filesystem::path path;
  /// As `--runs-dir` gives it; empty without the option: then commands find its runs by their ids.
  std::filesystem::path given;

  /// Sets the selector: the id, or a path where the id is not found. Cost: two stats.
  RunFolder Name(RunFolder run) const;
};

/// Whether the run has not ended, but its manager, which was on this host, is gone.
bool ManagerIsGone(const RunState& state);
/// "its manager (process 12 on n1) is gone"; empty when it is not.
std::string AboutGoneManager(const RunState& state);

/// The folders of all runs, oldest first, including renamed folders and those with an unreadable state. Their selectors
/// are those of RunsDirectory::Name. Empty when there is no such directory. Errors: SystemError when it cannot be read.
std::vector<RunFolder> ListRuns(const RunsDirectory& directory);

using WarningSink = std::function<void(const std::string&)>;

/// Finds a run by full id, unique prefix, `last`, or path of its folder. `last` is the newest readable run; `warn` gets
/// a message for newer ones. Errors: Error(kUsage) with the existing runs; those of RunFolder::Open.
RunFolder FindRun(const RunsDirectory& directory, const std::string& selector, const WarningSink& warn = {});

/// Ends a run while no manager holds its folder: writes its state and the event. Errors: SystemError.
void EndRun(const RunFolder& folder, Phase phase, EndCause ended);

}  // namespace slipway::launcher
