/// One connection to the SQLite file of a trial book: opening, prepared statements, errors in Slipway's words.
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

/// How long to wait for a locked book.
inline constexpr std::chrono::milliseconds kBusyPatience{5000};

/// How a reader opens a book. kImmutable takes no locks and needs no write permission. It is correct only while no
/// process writes and the journal is empty.
enum class ReadMode { kShared, kImmutable };

class Connection {
 public:
  /// Creates the file, with mode 0640, if it does not exist.
  static Connection ForWriting(const std::filesystem::path& path);
  /// Waits at most `patience` for a locked book.
  static Connection ForReading(const std::filesystem::path& path, ReadMode mode,
                               std::chrono::milliseconds patience = kBusyPatience);

  Connection(Connection&& other) noexcept;
  ~Connection();

  /// Sets the kind of journal; commits survive a loss of power (synchronous=FULL).
  /// Local: WAL, so readers never wait. Network: PERSIST with an exclusive lock of this process, because WAL needs the
  /// shared memory of one host.
  void SetJournal(Storage storage);

  const std::filesystem::path& path() const { return path_; }
  /// One or several statements without results.
  void Execute(const std::string& sql);
  std::int64_t Integer(const std::string& sql);
  std::string Text(const std::string& sql);
  /// Sets how long to wait for a book that another process has locked.
  void SetPatience(std::chrono::milliseconds patience);
  /// From now on commits survive a loss of power. Never fails.
  void SyncFully() noexcept;
  /// Undoes an open transaction, if there is one. Never throws.
  void RollBack() noexcept;

  /// The prepared statement of `sql`, compiled once. `sql` must live as long as the connection (a constant).
  SQLite::Statement& Prepared(std::string_view sql);

  /// Writes a copy of the book to `target`, complete or not at all.
  void CopyInto(const std::filesystem::path& target);

  /// Extends the write-ahead log to its final length at once. Commits then overwrite allocated blocks, and a sync need
  /// not wait for the journal of the file system, which also holds new trial folders.
  /// Cost: 4.5 MiB, once. Without a write-ahead log, or without disk space for it, it does nothing.
  void ExtendLog() noexcept;

  /// Empties the write-ahead log into the book. Leaves one plain file that opens from a copy or a read-only folder.
  /// Does nothing if a reader holds the book for longer than half a second.
  void Settle();

 private:
  Connection(std::filesystem::path path, std::unique_ptr<SQLite::Database> database);

  std::filesystem::path path_;
  std::unique_ptr<SQLite::Database> database_;
  std::map<std::string_view, std::unique_ptr<SQLite::Statement>> statements_;
};

/// One transaction that writes; undone unless Commit is reached.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void Commit();

 private:
  Connection& connection_;
  bool committed_ = false;
};

/// Rethrows the current exception; call it in a catch block. An SQLite error becomes a BookError that names `path`, the
/// reason and the next step.
[[noreturn]] void RethrowAsError(const std::filesystem::path& path);

/// Runs `action`. An SQLite error becomes a BookError about `path`.
template <class Action>
auto Translating(const std::filesystem::path& path, Action&& action) -> decltype(action()) {
  try {
    return std::forward<Action>(action)();
  } catch (...) {
    RethrowAsError(path);
  }
}

}  // namespace slipway::ensemble
