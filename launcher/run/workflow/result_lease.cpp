#include "launcher/run/workflow/result_lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/json_fields.h"
#include "core/process_identity.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLeaseSchema = "slipway.workflow.lease/1";

}  // namespace

struct LeaseHolder {
  std::string run;
  std::string host;
  ProcessIdentity process;
};

template <class Visitor, MaybeConst<LeaseHolder> Struct>
void Visit(Visitor& visit, Struct& holder) {
  visit("run", holder.run);
  visit("host", holder.host);
  visit("process", holder.process);
}

namespace {

fs::path LeasesIn(const fs::path& results) { return results / ".leases"; }

bool Counts(const LeaseHolder& holder, const fs::path& file) {
  if (holder.host == HostName()) return IsAlive(holder.process);
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return false;
  const auto age = UnixSeconds(SystemClock().Now()) - static_cast<double>(info.st_mtim.tv_sec);
  return age < static_cast<double>(std::chrono::seconds(kLeaseLife).count());
}

/// Nothing: the line is cut. It is written before any id, so such a lease holds nothing.
std::optional<LeaseHolder> HolderIn(const std::string& line) try {
  const DocumentName name{"a lease"};
  return ReadFields<LeaseHolder>(ParseDocument(line, kLeaseSchema, name), name);
} catch (const DocumentError&) {
  return {};
}

/// What a lease holds; nothing of one that no longer counts, which is removed.
std::set<std::string> HeldBy(const fs::path& file) {
  std::istringstream lines(ReadDocumentIfPresent(file).value_or(""));
  std::string line;
  std::getline(lines, line);
  const auto holder = HolderIn(line);
  if (!holder) return {};
  if (!Counts(*holder, file)) {
    std::error_code error;
    fs::remove(file, error);
    return {};
  }
  std::set<std::string> held;
  while (std::getline(lines, line)) {
    if (!line.empty()) held.insert(line);
  }
  return held;
}

/// Those that killed managers have left. gc tells of what cannot be read; it stops no workflow.
void RemoveOldLeases(const fs::path& results) try { HeldResults(results); } catch (const Error&) {
}

}  // namespace

void RequireWritableResults(const fs::path& results) {
  for (const auto& path : {results, LeasesIn(results), results / ".lock"}) {
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 || errno == ENOENT) continue;
    const int code = errno;
    throw Error(
        ErrorKind::kEnvironment,
        fmt::format("cannot write '{}', where workflows keep their results: {}", path.string(), std::strerror(code)),
        "name a folder of your own for runs, with --runs-dir or SLIPWAY_RUNS: users do not share results");
  }
}

ResultLease::ResultLease(const fs::path& results, const std::string& run)
    : file_(LeasesIn(results) / fmt::format("{}.{}.{}", run, HostName(), ::getpid())), lock_(results / ".lock") {
  MakeDirectories(LeasesIn(results));
  auto document = WriteFields(LeaseHolder{run, HostName(), IdentityOf(::getpid())});
  document["schema"] = kLeaseSchema;
  const auto lock = LockResults(results);  // an old lease may have the name of this one: no one removes it meanwhile
  RemoveOldLeases(results);
  WriteFileAtomically(file_, document.dump() + "\n");
  fd_ = OpenFile(file_, O_WRONLY | O_APPEND);
}

ResultLease::~ResultLease() {
  std::error_code error;
  fs::remove(file_, error);
}

void ResultLease::Add(const std::string& id) {
  if (held_.contains(id)) return;
  const auto lock = FileLock::Acquire(lock_, LockMode::kExclusive);
  WriteAll(fd_.get(), "\n" + id + "\n", file_);  // a line before may be cut
  held_.insert(id);
}

void ResultLease::Renew() { ::futimens(fd_.get(), nullptr); }

FileLock LockResults(const fs::path& results) { return FileLock::Acquire(results / ".lock", LockMode::kExclusive); }

std::set<std::string> HeldResults(const fs::path& results) {
  std::set<std::string> held;
  for (const auto& file : EntriesOf(LeasesIn(results))) held.merge(HeldBy(file));
  return held;
}

}  // namespace slipway::launcher
