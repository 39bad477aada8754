#include "ensemble/store/trial_book.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/units.h"
#include "core/write_probe.h"
#include "ensemble/store/book_error.h"
#include "ensemble/store/book_state.h"
#include "ensemble/store/schema.h"

namespace slipway::ensemble {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatienceBesideSnapshot = std::chrono::milliseconds(100);
constexpr auto kSnapshotPeriod = std::chrono::seconds(5);
constexpr auto kLookForLock = std::chrono::milliseconds(10);

std::optional<FileLock> TryLock(const fs::path& folder) {
  try {
    return FileLock::TryAcquire(folder / kLockName, LockMode::kExclusive);
  } catch (const SystemError& error) {
    throw SystemError(error.code(), fmt::format("cannot manage the ensemble in '{}'", folder.string()),
                      "it needs a folder that it can write to; to look at the trials, reading is enough");
  }
}

/// Whether a manager holds the lock. A lock just taken still has the text of its holder before, so it is read twice.
bool IsManaged(const fs::path& lock) {
  if (!HasManager(lock)) return false;
  const auto before = ReadHolder(lock);
  SystemClock().Sleep(kLookForLock);
  return ReadHolder(lock) == before && HasManager(lock);
}

/// Waits for commands, and for a process that a killed manager was starting: it holds the lock until its exec.
std::optional<FileLock> AwaitLock(const fs::path& folder, std::chrono::milliseconds patience) {
  auto& clock = SystemClock();
  const auto deadline = clock.Steady() + patience;
  auto lock = TryLock(folder);
  while (!lock && clock.Steady() < deadline && !IsManaged(folder / kLockName)) {
    clock.Sleep(kLookForLock);
    lock = TryLock(folder);
  }
  return lock;
}

Error HeldByAnother(const fs::path& folder, std::chrono::milliseconds patience) {
  const auto holder = ReadHolder(folder / kLockName);
  const std::string who =
      holder ? fmt::format("process {} on host {}", holder->process.pid, holder->host) : std::string("another process");
  if (holder && holder->hold == Hold::kManager) {
    return {ErrorKind::kBusy, fmt::format("the ensemble in '{}' is managed by {}", folder.string(), who),
            "wait for it, or cancel it first; slipway trials enqueue and slipway trials retry work meanwhile"};
  }
  return {ErrorKind::kBusy,
          fmt::format("the ensemble in '{}' is still in use by {} after {}", folder.string(), who,
                      FormatDuration(patience)),
          "give the command again; if that process hangs, end it"};
}

FileLock LockForWriting(const fs::path& folder, const WriterOptions& options) {
  auto lock = AwaitLock(folder, options.patience);
  if (!lock) throw HeldByAnother(folder, options.patience);
  lock->Describe(DescribeThisProcess(options.hold));
  return std::move(*lock);
}

bool HasContent(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return !error && size > 0;
}

/// Whether SQLite left a journal beside a book that was not closed properly.
bool HasJournal(const fs::path& book) {
  return HasContent(book.string() + "-wal") || HasContent(book.string() + "-journal");
}

void CheckAfterCrash(Connection& connection) {
  const std::string verdict = connection.Text("PRAGMA quick_check(1)");
  if (verdict == "ok") return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("trial book '{}': is damaged ({})", connection.path().string(), verdict),
              "copy the run folder, then try `sqlite3 trials.db .recover` on the copy");
}

Connection OpenBook(const fs::path& path, Storage storage) {
  const bool crashed = HasJournal(path);
  auto connection = Connection::ForWriting(path);
  const bool is_new = IsEmptyDatabase(connection);
  if (!is_new) CheckSchema(connection);
  connection.SetJournal(storage);
  if (is_new) CreateSchema(connection);
  if (crashed) CheckAfterCrash(connection);
  return connection;
}

/// Begins the read transaction of a reader: it sees the book as it is now.
Connection BeginReading(const fs::path& path, ReadMode mode, std::chrono::milliseconds patience = kBusyPatience) {
  auto connection = Connection::ForReading(path, mode, patience);
  connection.Execute("BEGIN");
  CheckSchema(connection);
  return connection;
}

bool NobodyWrites(const fs::path& folder) {
  const auto holder = ReadHolder(folder / kLockName);
  return !(holder && MayBeAlive(*holder)) && !HasJournal(folder / kBookName);
}

/// Opens the book for writing: SQLite then undoes what was not committed.
void UndoUnfinished(const fs::path& path) try {
  Connection::ForWriting(path).Integer("SELECT count(*) FROM sqlite_schema");
} catch (const SystemError& error) {
  throw SystemError(
      error.code(),
      fmt::format("trial book '{}': its manager was killed within a change, to be undone by who may write",
                  path.string()),
      "resume the run, or read a copy of its folder");
}

/// Opens a book that may have the journal of a killed manager, which readers cannot undo. A manager leaves one if it is
/// killed while it changes the kind of journal, at its begin or end.
Connection BeginReadingAfterKill(const fs::path& path) {
  try {
    return BeginReading(path, ReadMode::kShared);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    if (!HasContent(path.string() + "-journal")) throw;
  }
  UndoUnfinished(path);
  return BeginReading(path, ReadMode::kShared);
}

/// The book, if it is not held, else its snapshot.
Connection OpenBesideItsHolder(const fs::path& folder) {
  const auto snapshot = folder / kSnapshotName;
  if (!fs::exists(snapshot)) return BeginReadingAfterKill(folder / kBookName);
  try {
    return BeginReading(folder / kBookName, ReadMode::kShared, kPatienceBesideSnapshot);
  } catch (const std::exception&) {
    return BeginReading(snapshot, ReadMode::kImmutable);
  }
}

Connection OpenToRead(const fs::path& folder) {
  const auto path = folder / kBookName;
  return Translating(path, [&] {
    if (!NobodyWrites(folder)) return OpenBesideItsHolder(folder);
    // In a read-only folder a book in WAL mode cannot be opened shared. Without writers, immutable is correct.
    try {
      return BeginReading(path, ReadMode::kShared);
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      return BeginReading(path, ReadMode::kImmutable);
    }
  });
}

/// Copies the book into the snapshot. False if the cause may pass: readers then see the snapshot before.
bool TryToCopy(Connection& connection) try {
  const auto& book = connection.path();
  Translating(book, [&] { connection.CopyInto(book.parent_path() / kSnapshotName); });
  return true;
} catch (const BookError& error) {
  if (!error.MayPass()) throw;
  return false;
} catch (const SystemError& error) {
  if (!MeansDiskFull(error.code())) throw;
  return false;
}

}  // namespace

TrialBook::TrialBook(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrialBook::TrialBook(TrialBook&& other) noexcept = default;
TrialBook::~TrialBook() = default;

TrialBook TrialBook::OpenForWriting(const fs::path& folder, const WriterOptions& options) {
  const auto path = folder / kBookName;
  auto lock = LockForWriting(folder, options);
  const Storage where = options.storage.value_or(StorageOf(folder));
  // Without it other hosts go on reading who held it before. If that was a manager, they do not wait.
  if (where == Storage::kNetwork) ::fdatasync(lock.fd());
  auto state = Translating(path, [&] { return std::make_unique<State>(OpenBook(path, where), where); });
  state->lock = std::move(lock);
  return TrialBook(std::move(state));
}

TrialBook TrialBook::OpenForReading(const fs::path& folder) {
  const auto path = folder / kBookName;
  if (!fs::is_regular_file(path)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' holds no trials: there is no {}", folder.string(), kBookName),
                "name the folder of an ensemble run");
  }
  return TrialBook(std::make_unique<State>(OpenToRead(folder)));
}

void TrialBook::ShareSnapshot(SteadyTime now) {
  auto& state = *state_;
  const bool is_due = !state.snapshot_at || now - *state.snapshot_at >= kSnapshotPeriod;
  if (state.storage == Storage::kLocal || !state.has_news || !is_due) return;
  state.snapshot_at = now;
  state.has_news = !TryToCopy(state.connection);
}

void TrialBook::Settle() {
  const auto& book = state_->connection.path();
  Translating(book, [&] { state_->connection.Settle(); });
  std::error_code ignored;  // a leftover snapshot is read only while the book is locked
  fs::remove(book.parent_path() / kSnapshotName, ignored);
}

}  // namespace slipway::ensemble
