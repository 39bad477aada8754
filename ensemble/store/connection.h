/// One connection to a trial book: how it is opened, its prepared statements, its errors in Slipway's words.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ensemble/store/query.h"
#include "ensemble/store/storage.h"

namespace SQLite {
class Database;
}

namespace slipway::ensemble {

/// How long a locked book is waited for.
inline constexpr std::chrono::milliseconds kBusyPatience{5000};

/// How a reader may look at a book. kImmutable takes no locks and needs no write permission, and is right only
/// while nobody writes and nothing waits in a journal.
enum class ReadMode { kShared, kImmutable };

class Connection {
 public:
  /// Creates the file, with mode 0640, when there is none.
  static Connection ForWriting(const std::filesystem::path& path);
  /// A locked book is waited for, `patience` long.
  static Connection ForReading(const std::filesystem::path& path, ReadMode mode,
                               std::chrono::milliseconds patience = kBusyPatience);

  Connection(Connection&& other) noexcept;
  ~Connection();

  /// Local: WAL with synchronous=FULL, so that readers never wait and a commit survives a power loss.
  /// Network: WAL needs shared memory of one host, so PERSIST with an exclusive lock, for this process alone.
  void SetJournal(Storage storage);

  const std::filesystem::path& path() const { return path_; }
  /// One or several statements without results.
  void Execute(const std::string& sql);
  std::int64_t Integer(const std::string& sql);
  std::string Text(const std::string& sql);
  /// How long a book that another process has locked is waited for from now on.
  void SetPatience(std::chrono::milliseconds patience);
  /// Commits outlive a loss of power from now on; never fails.
  void SyncFully() noexcept;
  /// Undoes an open transaction, if there is one; never throws.
  void RollBack() noexcept;

  /// The prepared statement of `sql`, which must live as long as the connection (a literal); compiled once.
  SQLite::Statement& Prepared(std::string_view sql);

  /// Writes a copy of the book to `target`, complete or not at all.
  void CopyInto(const std::filesystem::path& target);

  /// Writes the write-ahead log out to the length that it comes to: commits then overwrite what the file system has
  /// given already, so that a sync need not wait for the file system's own journal with all that stands in it (new
  /// folders of trials). Cost: 4.5 MiB, once. Without such a log, or room for it, it does nothing.
  void ExtendLog() noexcept;

  /// Empties the write-ahead log into the book and leaves one plain file that opens from a copy or a read-only
  /// folder. A reader that looks at it for longer than half a second makes this a no-op.
  void Settle();

 private:
  Connection(std::filesystem::path path, std::unique_ptr<SQLite::Database> database);

  std::filesystem::path path_;
  std::unique_ptr<SQLite::Database> database_;
  std::map<std::string_view, std::unique_ptr<SQLite::Statement>> statements_;
};

/// To be called in a catch block: rethrows what is in flight, an SQLite error as a BookError that names `path`, the
/// reason and the next step.
[[noreturn]] void RethrowAsError(const std::filesystem::path& path);

/// Runs `action`; an SQLite error leaves it as an Error about `path`.
template <class Action>
auto Translating(const std::filesystem::path& path, Action&& action) -> decltype(action()) {
  try {
    return std::forward<Action>(action)();
  } catch (...) {
    RethrowAsError(path);
  }
}

}  // namespace slipway::ensemble
