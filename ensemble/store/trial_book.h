/// The trial book: all data of an ensemble, in one SQLite file (`trials.db` in the run folder).
///
/// One process writes (the manager); any number read. Tables and views: docs/reference/trial-book.md.
/// Errors of all functions: Error(kEnvironment) for a damaged, foreign, newer or unreadable file, with the next step.
/// BookError with MayPass() if the cause may pass: a lock of another process, a full disk. Nothing has changed then.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "ensemble/model/changes.h"
#include "ensemble/model/records.h"
#include "ensemble/model/study_clock.h"
#include "ensemble/space/space.h"
#include "ensemble/store/holder.h"
#include "ensemble/store/storage.h"

namespace slipway::ensemble {

inline constexpr const char* kBookName = "trials.db";
inline constexpr const char* kSnapshotName = "trials.snapshot.db";
/// The lock file. Its text names the process that manages the ensemble (holder.h).
inline constexpr const char* kLockName = "trials.lock";

/// How a process opens a book for writing.
struct WriterOptions {
  std::optional<Storage> storage = {};  ///< nothing: as statfs says; tests set it
  Hold hold = Hold::kManager;
  /// How long to wait for a lock that a command, or a child of a killed manager, holds.
  std::chrono::milliseconds patience = std::chrono::seconds(30);
};

/// What a commit survives. kProcess: the end of this process; it needs no sync of the disk. kPower: a loss of power.
enum class Outlives { kProcess, kPower };

class TrialBook {
 public:
  /// Opens `folder`/trials.db and holds the lock `trials.lock` beside it. Creates the book if it does not exist.
  /// Waits while a command holds the lock, but not for a manager.
  /// Errors: Error(kBusy) naming host and process of the holder.
  static TrialBook OpenForWriting(const std::filesystem::path& folder, const WriterOptions& options = {});

  /// Opens the book as it is at this moment; later changes of a manager are not seen. Works in read-only folders.
  /// If the manager holds the book exclusively, opens the last snapshot.
  /// Errors: Error(kUsage) when the folder holds no book, or one whose manager has not created its tables yet.
  static TrialBook OpenForReading(const std::filesystem::path& folder);

  TrialBook(TrialBook&& other) noexcept;
  ~TrialBook();

  /// The study; nothing before CreateStudy.
  std::optional<StudyRecord> Study();
  /// All trials in the order of their numbers. Cost: two scans; 10,000 trials of 10 parameters in < 0.1 s.
  std::vector<TrialRecord> Trials();
  /// The same without parameters and without the values of further objectives. Cost: 10,000 trials in 0.02 s.
  std::vector<TrialRecord> TrialStates();
  std::vector<AttemptRecord> Attempts(TrialNumber trial);
  /// Those of all trials, in the order of trial and number.
  std::vector<AttemptRecord> Attempts();
  /// Attempts that have not ended, of this manager or of an earlier one.
  std::vector<AttemptRecord> OpenAttempts();
  /// Ordered by attempt, step and name.
  std::vector<MetricRecord> Metrics(TrialNumber trial);
  /// Of one attempt and name, ordered by step.
  std::vector<MetricRecord> Metrics(TrialNumber trial, int attempt, const std::string& name);
  /// All values of the metric `name` in the order of trial, step and attempt. Cost: 1,000,000 values in < 1 s.
  void ForEachMetric(const std::string& name, const std::function<void(const MetricRecord&)>& take);
  /// All values of all metrics in the order of trial, name, step and attempt. Cost: the same.
  void ForEachMetric(const std::function<void(const MetricRecord&)>& take);
  /// In the order of trial and rung.
  std::vector<RungRecord> Rungs();
  /// The time used, without attempts that still run.
  Usage Used();
  /// The manager's answer to the request of this name; nothing: no answer yet.
  std::optional<RequestAnswer> AnswerTo(const std::string& request);

  /// Sets how long calls wait for a book that another process has locked. After that they throw BookError.
  void SetPatience(std::chrono::milliseconds patience);
  void CreateStudy(const StudyRecord& study, const SearchSpace& space);
  /// A manager begins. Its time counts from `now` to its last write.
  void BeginSession(const ClockReading& now, const std::string& host);
  /// Writes a sign of life of a manager that has nothing else to write.
  void NoteSignOfManager(double now);
  /// The clock reading at the begin of the latest session, for StudyClock. Nothing: no attempt is open, or there was no
  /// session.
  std::optional<ClockReading> LastReading();
  /// When the earlier manager that began last before `time` wrote last. Nothing: there was none. Seconds since 1970.
  std::optional<double> LastSignOfManagerAt(double time);
  /// Changes the budget of a resumed study, but never to less than what has begun.
  void SetBudget(std::int64_t trials);
  /// Writes the changes in one commit: all or none. On return the commit survives what `outlives` names. With kProcess,
  /// a loss of power may undo all commits since the last one with kPower. On network file systems kProcess is the same
  /// as kPower.
  /// Errors: kInternal when a new trial would exceed the budget.
  void Write(const Changes& changes, Outlives outlives = Outlives::kPower);
  /// The same, but the disk syncs while the caller goes on. On return the commit survives the end of this process; when
  /// the future is ready, a loss of power too. Until then, write nothing.
  /// Errors: as Write. The future throws SystemError when the disk fails.
  std::future<void> BeginWrite(const Changes& changes);
  /// On a network file system, where the manager holds the book exclusively: publishes a snapshot for readers, as
  /// `trials.snapshot.db`. It does so at once, then after writes at most every five seconds: call it regularly.
  /// Settle removes the snapshot. On other file systems it does nothing.
  void ShareSnapshot(SteadyTime now);
  /// Leaves one plain file. Call it when the study ends or pauses; writing may go on after it.
  void Settle();

 private:
  struct State;
  explicit TrialBook(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace slipway::ensemble
