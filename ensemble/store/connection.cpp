#include "ensemble/store/connection.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cctype>

#include "core/error.h"
#include "core/files.h"
#include "core/write_probe.h"
#include "ensemble/store/book_error.h"

namespace slipway::ensemble {
namespace {

constexpr int kBusyTimeoutMs = static_cast<int>(kBusyPatience.count());
/// Larger than most commits of the manager.
constexpr Bytes kSpaceOfACommit{64 << 10};
constexpr int kSettleTimeoutMs = 250;
/// SQLite restarts the log when it holds 1,000 pages; a large commit may come on top.
constexpr std::uintmax_t kLogBytes = 4608 * 1024;

bool IsPlain(unsigned char letter) {
  return std::isalnum(letter) != 0 || std::string_view("/-_.~").find(static_cast<char>(letter)) != std::string::npos;
}

std::string FileUri(const std::filesystem::path& path, ReadMode mode) {
  std::string uri = "file:";
  for (const unsigned char letter : std::filesystem::absolute(path).string()) {
    uri += IsPlain(letter) ? std::string(1, static_cast<char>(letter)) : fmt::format("%{:02X}", letter);
  }
  return uri + (mode == ReadMode::kImmutable ? "?mode=ro&immutable=1" : "?mode=ro");
}

struct Explanation {
  ErrorKind kind;
  std::string reason;
  std::string next_step;
  BookTrouble trouble = BookTrouble::kOther;
};

Explanation ExplainFull(const std::string& reason) {
  return {ErrorKind::kEnvironment, "cannot grow: " + reason, "free space and resume", BookTrouble::kDiskFull};
}

/// SQLite reports a full disk, but not an exceeded quota.
Explanation ExplainFailedWrite(const std::string& native, const std::filesystem::path& book) {
  const auto why = WhyNoDiskSpace(book.parent_path(), kSpaceOfACommit);
  if (!why.empty()) return ExplainFull(why);
  return {ErrorKind::kEnvironment, "cannot be read or written: " + native, "check the disk"};
}

Explanation Explain(const SQLite::Exception& error, const std::filesystem::path& book) {
  const std::string native = error.what();
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
      return {ErrorKind::kEnvironment, "is no SQLite database, so not a trial book",
              "put a copy of the file back, or run the ensemble again: slipway run SPEC"};
    case SQLITE_CORRUPT:
      return {ErrorKind::kEnvironment, "is damaged (" + native + ")",
              "copy the run folder, then try `sqlite3 trials.db .recover` on the copy"};
    case SQLITE_FULL: return ExplainFull("the disk is full");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::kBusy, "is locked by another process", "wait for it to end, or look at it on its own host",
              BookTrouble::kHeld};
    case SQLITE_READONLY:
    case SQLITE_PERM: return {ErrorKind::kEnvironment, "cannot be written (" + native + ")", "check its permissions"};
    case SQLITE_CANTOPEN:
      return {ErrorKind::kEnvironment, "cannot be opened (" + native + ")",
              "check that it exists and its permissions; a book whose manager was killed needs a writable folder: "
              "resume it, or read a copy"};
    case SQLITE_IOERR: return ExplainFailedWrite(native, book);
    default: return {ErrorKind::kInternal, native, {}};
  }
}

}  // namespace

void RethrowAsError(const std::filesystem::path& path) {
  try {
    throw;
  } catch (const SQLite::Exception& error) {
    const auto explanation = Explain(error, path);
    throw BookError(explanation.trouble, explanation.kind,
                    fmt::format("trial book '{}': {}", path.string(), explanation.reason), explanation.next_step);
  }
}

Connection::Connection(std::filesystem::path path, std::unique_ptr<SQLite::Database> database)
    : path_(std::move(path)), database_(std::move(database)) {}
Connection::Connection(Connection&& other) noexcept = default;
Connection::~Connection() = default;

Connection Connection::ForWriting(const std::filesystem::path& path) {
  OpenFile(path, O_RDWR | O_CREAT);
  return {path, std::make_unique<SQLite::Database>(path.string(), SQLite::OPEN_READWRITE, kBusyTimeoutMs)};
}

void Connection::SetJournal(Storage storage) {
  if (storage == Storage::kLocal) {
    Text("PRAGMA journal_mode = WAL");
  } else {
    Text("PRAGMA locking_mode = EXCLUSIVE");
    Text("PRAGMA journal_mode = PERSIST");
  }
  Execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
}

Connection Connection::ForReading(const std::filesystem::path& path, ReadMode mode,
                                  std::chrono::milliseconds patience) {
  const int flags = SQLite::OPEN_READONLY | SQLite::OPEN_URI;
  const int timeout = static_cast<int>(patience.count());
  return {path, std::make_unique<SQLite::Database>(FileUri(path, mode), flags, timeout)};
}

void Connection::Execute(const std::string& sql) { database_->exec(sql); }
std::int64_t Connection::Integer(const std::string& sql) { return database_->execAndGet(sql).getInt64(); }
std::string Connection::Text(const std::string& sql) { return database_->execAndGet(sql).getString(); }
void Connection::SetPatience(std::chrono::milliseconds patience) {
  database_->setBusyTimeout(static_cast<int>(patience.count()));
}
void Connection::SyncFully() noexcept { (void)database_->tryExec("PRAGMA synchronous = FULL"); }
void Connection::RollBack() noexcept { (void)database_->tryExec("ROLLBACK"); }

SQLite::Statement& Connection::Prepared(std::string_view sql) {
  auto& statement = statements_[sql];
  if (statement == nullptr) statement = std::make_unique<SQLite::Statement>(*database_, std::string(sql));
  return *statement;
}

Transaction::Transaction(Connection& connection) : connection_(connection) {
  Query(connection_.Prepared("BEGIN IMMEDIATE")).Run();
}

Transaction::~Transaction() {
  if (!committed_) connection_.RollBack();
}

void Transaction::Commit() {
  Query(connection_.Prepared("COMMIT")).Run();
  committed_ = true;
}

void Connection::CopyInto(const std::filesystem::path& target) {
  const std::filesystem::path temporary = target.string() + ".tmp";
  std::filesystem::remove(temporary);
  OpenFile(temporary, O_RDWR | O_CREAT);  // for its mode; VACUUM INTO takes an empty file
  SQLite::Statement copy(*database_, "VACUUM INTO ?");
  copy.bind(1, temporary.string());
  copy.exec();
  std::filesystem::rename(temporary, target);
  SyncDirectory(target.parent_path());
}

void Connection::ExtendLog() noexcept try {
  const std::filesystem::path log = path_.string() + "-wal";
  std::error_code error;
  const auto length = std::filesystem::file_size(log, error);
  if (error || length >= kLogBytes) return;
  // SQLite does not read zeros as a frame: it stops before them, also after a crash.
  const auto file = OpenFile(log, O_WRONLY | O_APPEND);
  WriteAll(file.get(), std::string(kLogBytes - length, '\0'), log);
  ::fdatasync(file.get());
} catch (const std::exception&) {
  // Disk full: commits take as long as without the extension.
}

void Connection::Settle() {
  statements_.clear();
  database_->setBusyTimeout(kSettleTimeoutMs);
  database_->tryExec("PRAGMA optimize");
  database_->tryExec("PRAGMA wal_checkpoint(TRUNCATE)");
  // An exclusive connection keeps its journal. The next access after this line releases the exclusive lock.
  database_->tryExec("PRAGMA locking_mode = NORMAL; SELECT count(*) FROM sqlite_schema");
  database_->tryExec("PRAGMA journal_mode = DELETE");
  database_->setBusyTimeout(kBusyTimeoutMs);
}

}  // namespace slipway::ensemble
