#include "launcher/run/results/stage_out_record.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/filesystem_errors.h"
#include "core/json_fields.h"
#include "core/lines.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

WordTable<StageOutState> WordsOf(StageOutState) {
  static constexpr Word<StageOutState> kWords[] = {
      {StageOutState::kIntended, "intended"}, {StageOutState::kOpen, "open"}, {StageOutState::kSettled, "settled"}};
  return kWords;
}

template <class Visitor, MaybeConst<StageOutRecord> Struct>
void Visit(Visitor& visit, Struct& record) {
  visit("tier", record.tier);
  visit("directory", record.directory);
  visit("host", record.host);
  visit("state", record.state);
  visit("keep", record.keep, Presence::kOptional);
  visit("bandwidth", record.bandwidth, Presence::kOptional);
}

namespace {

constexpr auto kOutboxSchema = "slipway.outbox/1";
constexpr auto kOutboxOwner = "owner";  // in the directory: the run's id

std::optional<int> TrialOf(const fs::path& name) { return ParseNumber<int>(name.filename().native()); }

/// A record may be damaged or made up: nothing is looked for, or removed, but in a directory of outboxes.
bool IsInPlace(const StageOutRecord& record) { return record.directory.parent_path().filename() == ".out"; }

/// StageOutDirectory begins the name with the run's id.
bool BearsNameOf(const RunFolder& folder, const StageOutRecord& record) {
  return record.directory.filename().string().starts_with(folder.id() + "-");
}

/// A directory that cannot be looked at is not gone. Errors: SystemError.
bool IsDirectoryOfOurs(const StageOutRecord& record) {
  struct stat info {};
  if (::lstat(record.directory.c_str(), &info) == 0) return S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
  if (errno == ENOENT || errno == ENOTDIR) return false;
  ThrowErrno(fmt::format("cannot look at '{}'", record.directory.string()),
             fmt::format("nothing was removed; when it can be read on {}, repeat the command there", record.host));
}

/// The name during creation and removal. A run's data is never read from it.
fs::path UnfinishedOutbox(const StageOutRecord& record) {
  return record.directory.parent_path() / (".tmp-" + record.directory.filename().string());
}

}  // namespace

fs::path StageOutRecordFile(const RunFolder& folder) { return folder.path() / "outbox.json"; }

std::optional<StageOutRecord> ReadOutboxRecord(const RunFolder& folder) {
  const auto text = ReadDocumentIfPresent(StageOutRecordFile(folder));
  if (!text) return {};
  const DocumentName name{fmt::format("'{}'", StageOutRecordFile(folder).string()), ErrorKind::kEnvironment,
                          "look for the run's directory in the tier's .out directory, copy it out with slipway stage "
                          "out DIR DEST, then remove that file"};
  return ReadFields<StageOutRecord>(ParseDocument(*text, kOutboxSchema, name), name);
}

void WriteOutboxRecord(const RunFolder& folder, const StageOutRecord& record) {
  WriteFileDurably(StageOutRecordFile(folder), WriteFields(kOutboxSchema, record).dump(2) + "\n");
}

void MakeOutbox(const RunFolder& folder, const StageOutRecord& record) {
  const auto prepared = UnfinishedOutbox(record);
  RemoveTree(prepared);
  MakeDirectories(prepared);
  WriteFileDurably(prepared / kOutboxOwner, folder.id() + "\n");
  if (::rename(prepared.c_str(), record.directory.c_str()) != 0) {
    ThrowErrno(fmt::format("cannot create '{}'", record.directory.string()));
  }
  SyncDirectory(record.directory.parent_path());
}

bool HasOutbox(const RunFolder& folder, const StageOutRecord& record) {
  if (!IsInPlace(record) || !IsDirectoryOfOurs(record)) return false;
  const auto owner = ReadDocumentIfPresent(record.directory / kOutboxOwner);
  return owner ? *owner == folder.id() + "\n" : BearsNameOf(folder, record);
}

bool LostOutbox(const RunFolder& folder, const StageOutRecord& record) {
  return record.state == StageOutState::kOpen && !HasOutbox(folder, record);
}

bool IsElsewhere(const RunFolder& folder, const StageOutRecord& record) {
  return record.host != HostName() && !HasOutbox(folder, record);
}

void RemoveOutbox(const RunFolder& folder, const StageOutRecord& record) {
  const auto condemned = UnfinishedOutbox(record);
  if (IsInPlace(record)) RemoveTree(condemned);
  if (HasOutbox(folder, record)) {
    if (::rename(record.directory.c_str(), condemned.c_str()) != 0) {
      ThrowErrno(fmt::format("cannot remove '{}'", record.directory.string()));
    }
    RemoveTree(condemned);
  }
  RemoveTree(StageOutRecordFile(folder));
}

RunOutPlace OutPlaceFor(const RunFolder& folder, const StageOutRecord& record, const fs::path& run) {
  if (run == folder.path()) return {{record.directory, run}, {}};
  return {{record.directory / run.lexically_relative(folder.path()), run}, TrialOf(run)};
}

std::vector<RunOutPlace> OutPlacesIn(const RunFolder& folder, const StageOutRecord& record) {
  return WithSystemErrors([&] {
    std::vector<RunOutPlace> places;
    const auto trials = record.directory / "trials";
    const bool has_trials = fs::exists(trials);
    for (const auto& entry : has_trials ? fs::directory_iterator(trials) : fs::directory_iterator()) {
      if (!TrialOf(entry.path())) continue;
      places.push_back(OutPlaceFor(folder, record, folder.trials() / entry.path().filename()));
    }
    std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.trial < b.trial; });
    const auto own = OutPlaceFor(folder, record, folder.path());
    if (fs::exists(own.place.checkpoints()) || fs::exists(own.place.outputs())) places.push_back(own);
    return places;
  });
}

}  // namespace slipway::launcher
