/// The trial book: everything an ensemble knows, in one SQLite file (`trials.db` in the run folder).
///
/// One process writes (the manager); any number read. Tables and views: docs/reference/trial-book.md.
/// Errors of all functions: Error(kEnvironment) for a damaged, foreign, newer or unreadable file, naming the next step;
/// BookError where the cause may pass: a lock of another process, a full disk. Nothing has changed then.
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
#include "ensemble/store/storage.h"

namespace slipway::ensemble {

inline constexpr const char* kBookName = "trials.db";
inline constexpr const char* kSnapshotName = "trials.snapshot.db";
/// Its text names the process that manages the ensemble (holder.h).
inline constexpr const char* kLockName = "trials.lock";

/// What a commit outlives: this process, or the machine's power as well. The first needs no sync of the disk.
enum class Outlives { kProcess, kPower };

class TrialBook {
 public:
  /// Opens `folder`/trials.db, creating it when there is none, and keeps the lock `trials.lock` beside it.
  /// `storage` is what statfs says unless a test says otherwise.
  /// Errors: Error(kBusy) naming host and process of the manager that holds it.
  static TrialBook OpenForWriting(const std::filesystem::path& folder, std::optional<Storage> storage = std::nullopt);

  /// Sees the one moment at which it was opened, also while a manager writes; works in read-only folders. Of a book
  /// that its manager holds for itself it sees the last snapshot. Errors: Error(kUsage) when the folder holds no book,
  /// or one that its manager has only begun to make.
  static TrialBook OpenForReading(const std::filesystem::path& folder);

  TrialBook(TrialBook&& other) noexcept;
  ~TrialBook();

  /// Nothing before CreateStudy.
  std::optional<StudyRecord> Study();
  /// All trials in the order of their numbers. Cost: two scans; 10,000 trials of 10 parameters in < 0.1 s.
  std::vector<TrialRecord> Trials();
  std::vector<AttemptRecord> Attempts(TrialNumber trial);
  /// Attempts that have not ended, of this manager or a lost one.
  std::vector<AttemptRecord> OpenAttempts();
  /// Ordered by attempt, step and name.
  std::vector<MetricRecord> Metrics(TrialNumber trial);
  /// Of one attempt and name, ordered by step.
  std::vector<MetricRecord> Metrics(TrialNumber trial, int attempt, const std::string& name);
  /// All values of the metric `name` in the order of trial, step and attempt. Cost: 1,000,000 values in < 1 s.
  void ForEachMetric(const std::string& name, const std::function<void(const MetricRecord&)>& take);
  /// In the order of trial and rung.
  std::vector<RungRecord> Rungs();
  /// Without the attempts that still run.
  Usage Used();
  /// What the manager has answered to the request of this name; nothing: not yet.
  std::optional<RequestAnswer> AnswerTo(const std::string& request);

  /// How long calls wait for another process that has locked the book, from now on; then they throw BookError.
  void SetPatience(std::chrono::milliseconds patience);
  void CreateStudy(const StudyRecord& study, const SearchSpace& space);
  /// A manager begins: its time counts from now to the last thing that it writes.
  void BeginSession(const ClockReading& now, const std::string& host);
  /// The manager is there, and has nothing to write.
  void NoteSignOfManager(double now);
  /// What the times of the book follow from while attempts are open: when the latest session began. Nothing: none is
  /// open, or there was no session.
  std::optional<ClockReading> LastReading();
  /// When the earlier manager that was there at `time` last wrote; all are seconds since 1970. Nothing: none was.
  std::optional<double> LastSignOfManagerAt(double time);
  /// Changes the budget of a resumed study, never to less than what has begun.
  void SetBudget(std::int64_t trials);
  /// All of it or nothing; durable when it returns. One commit. With kProcess a loss of power may undo it, and then
  /// all that was written since the last commit with kPower; on network file systems it is as kPower.
  /// Errors: kInternal when a new trial would exceed the budget.
  void Write(const Changes& changes, Outlives outlives = Outlives::kPower);
  /// The same while the caller does something else: on return it outlives this process, when the result is there the
  /// machine's power as well. Until then nothing may be written. The result throws Error(kEnvironment) when the disk
  /// fails.
  std::future<void> BeginWrite(const Changes& changes);
  /// Where the manager must hold the book for itself (a network file system), publishes what it holds as
  /// `trials.snapshot.db` for readers: at once, and then at most every five seconds, when something was written. To be
  /// called now and then; elsewhere it does nothing. Settle removes it.
  void ShareSnapshot(SteadyTime now);
  /// To be called when the study is over or pauses: leaves one plain file. Writing may go on after it.
  void Settle();

 private:
  struct State;
  explicit TrialBook(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace slipway::ensemble
