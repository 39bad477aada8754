#include "staging/out/checkpoint_sides.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "core/checkpoint.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/fnv1a.h"
#include "staging/out/private_place.h"
#include "staging/out/tree.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// What begins so is a checkpoint on its way to be removed.
constexpr std::string_view kOldPrefix = ".tmp-old-";

/// What begins so was copied out as it is.
constexpr std::string_view kTornPrefix = "torn-";

/// What was copied is no checkpoint.
struct Torn {
  std::string reason;
};

/// 0 without a manifest.
std::uint64_t FingerprintOf(const fs::path& checkpoint) {
  const auto text = ReadFileIfPresent(checkpoint / "manifest.json");
  return text ? Fnv1a64(*text) : 0;
}

/// Programs publish under the one name of a step; other spellings of it are not ours to touch. Errors: SystemError.
CheckpointEntries EntriesIn(const fs::path& directory) {
  CheckpointEntries entries;
  for (const auto& published : AllPublishedCheckpoints(directory)) {
    CheckpointEntry entry{published.step, 0, false};
    if (published.directory.filename() != CheckpointName(entry.step)) continue;
    entry.fingerprint = FingerprintOf(published.directory);
    entries.push_back(entry);
  }
  return entries;
}

/// Gone in one step, so that no half of it bears the name of a checkpoint. One of the same step that the program has
/// written meanwhile is another one, and stays.
void RemoveCheckpoint(const fs::path& directory, const CheckpointEntry& entry) {
  const auto published = directory / CheckpointName(entry.step);
  const auto condemned = directory / (std::string(kOldPrefix) + CheckpointName(entry.step));
  if (FingerprintOf(published) != entry.fingerprint) return;
  RemoveTree(condemned);
  if (::rename(published.c_str(), condemned.c_str()) != 0) {
    if (errno == ENOENT) return;  // the program was faster
    ThrowErrno(fmt::format("cannot remove '{}'", published.string()));
  }
  const bool is_another = FingerprintOf(condemned) != entry.fingerprint;
  if (is_another && ::rename(condemned.c_str(), published.c_str()) == 0) return;
  RemoveTree(condemned);  // or the program has written yet another one
}

/// What a mover that was killed had not removed yet.
void RemoveCondemned(const fs::path& directory) {
  for (const auto& entry : EntriesOf(directory)) {
    if (entry.filename().string().starts_with(kOldPrefix)) RemoveTree(entry);
  }
}

/// Hard links of a directory's files, removed at the end; the directory itself where links are not to be had.
class Pinned {
 public:
  Pinned(fs::path checkpoint, fs::path pin) : path_(std::move(checkpoint)), pin_(std::move(pin)) {
    if (TryLink()) {
      path_ = pin_;
    } else {
      Remove();  // in a full tier half a pin would keep the space that copying out is to free
    }
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { Remove(); }
  const fs::path& path() const { return path_; }

 private:
  void Remove() const {
    std::error_code ignored;
    fs::remove_all(pin_, ignored);
  }

  bool TryLink() const {
    try {
      RemoveTree(pin_);
      return Link();
    } catch (const std::exception&) {
      return false;
    }
  }

  bool Link() const {
    const auto tree = ListTree(path_);
    if (!tree.refused.empty()) return false;  // the copy of the directory itself names them
    MakeDirectories(pin_);
    for (const auto& name : tree.directories) MakeDirectories(pin_ / name);
    for (const auto& link : tree.links) fs::create_symlink(link.target, pin_ / link.name);
    return std::all_of(tree.files.begin(), tree.files.end(), [&](const SourceFile& file) {
      return ::link(file.path.native().c_str(), (pin_ / file.name).c_str()) == 0;
    });
  }

  fs::path path_;
  fs::path pin_;
};

/// Throws Torn unless the files of the manifest are among `files`, as the manifest says.
void CheckAgainst(const CheckpointManifest& manifest, const fs::path& checkpoint, const std::vector<OutFile>& files) {
  const auto root = fs::canonical(checkpoint);
  for (const auto& expected : manifest.files) {
    std::error_code missing;  // a link may stand for its target
    const auto name = fs::canonical(checkpoint / expected.name, missing).lexically_relative(root);
    const auto found = std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.name == name; });
    const auto refuse = [&](std::string_view what) {
      throw Torn{fmt::format("'{}' {}", expected.name.string(), what)};
    };
    if (missing || found == files.end()) refuse("is missing");
    if (found->size.count != expected.bytes)
      refuse(fmt::format("has {} bytes instead of {}", found->size.count, expected.bytes));
    if (found->crc32c != expected.crc32c)
      refuse(fmt::format("has the CRC32C {} instead of {}", found->crc32c, expected.crc32c));
  }
}

CheckpointManifest ManifestOf(const fs::path& checkpoint) {
  try {
    return LoadCheckpointManifest(checkpoint);
  } catch (const Error& error) {
    throw Torn{error.message()};
  }
}

/// Whether `copy` has all files of `checkpoint`, byte for byte.
bool IsCopied(const fs::path& checkpoint, const fs::path& copy, StageOutOptions options) {
  options.existing = Existing::kMerge;
  options.unchanged = Unchanged::kContents;
  return IsThere(copy) && WorkOf(checkpoint, copy, options).files == 0;
}

}  // namespace

CheckpointDirectories::CheckpointDirectories(fs::path tier, fs::path shared, StageOutOptions options)
    : tier_(std::move(tier)), shared_(std::move(shared)), options_(std::move(options)) {
  options_.existing = Existing::kReplace;
}

void CheckpointDirectories::RemoveLeftovers() const {
  RemoveOutLeftovers(shared_);
  RemoveCondemned(shared_);
  RemoveCondemned(tier_);
  RemoveTree(pins());
}

CheckpointEntries CheckpointDirectories::Tier() {
  auto entries = EntriesIn(tier_);
  MarkBest(entries);
  for (auto& entry : entries) entry.whole = entry.fingerprint != 0 && !torn_.contains({entry.step, entry.fingerprint});
  return entries;
}

CheckpointEntries CheckpointDirectories::Shared(int keep) {
  auto entries = EntriesIn(shared_);
  MarkBest(entries);
  int whole = 0;
  for (auto& entry : entries) {
    if (whole >= std::max(keep, 1) && !entry.best) continue;
    entry.whole = IsVerified(entry);
    if (entry.whole) ++whole;
  }
  return entries;
}

bool CheckpointDirectories::IsDamaged(const fs::path& side, const Key& key) const {
  if (&side == &tier_) return torn_.contains(key);
  const auto known = whole_.find(key);
  return known != whole_.end() && !known->second;
}

const std::optional<CheckpointValues>& CheckpointDirectories::ValuesOf(const fs::path& side,
                                                                       const CheckpointEntry& entry) {
  const auto [place, is_new] = values_.try_emplace({entry.step, entry.fingerprint});
  if (is_new) place->second = ReadCheckpointValues(side / CheckpointName(entry.step));
  return place->second;
}

/// Of a step that the sides hold differently, the tier's is the later one.
std::optional<CheckpointDirectories::Key> CheckpointDirectories::Best() {
  std::set<std::uint64_t> steps;
  std::vector<Key> keys;
  std::vector<CheckpointValues> values;
  for (const auto* side : {&tier_, &shared_}) {
    for (const auto& entry : EntriesIn(*side)) {
      const Key key{entry.step, entry.fingerprint};
      if (IsDamaged(*side, key) || !steps.insert(entry.step).second) continue;
      const auto& read = ValuesOf(*side, entry);
      if (!read) continue;
      keys.push_back(key);
      values.push_back(*read);
    }
  }
  const auto best = BestOf(values);
  if (!best) return {};
  return keys[*best];
}

void CheckpointDirectories::MarkBest(CheckpointEntries& entries) {
  const auto best = Best();
  for (auto& entry : entries) entry.best = best == Key{entry.step, entry.fingerprint};
}

bool CheckpointDirectories::IsVerified(const CheckpointEntry& entry) {
  const Key key{entry.step, entry.fingerprint};
  const auto known = whole_.find(key);
  if (known != whole_.end()) return known->second;
  const auto on_piece = [&] {
    if (!options_.cancelled || !options_.cancelled()) return;
    throw Error(ErrorKind::kInterrupted, fmt::format("the look at '{}' was cancelled", shared_.string()));
  };
  return whole_[key] = ReadCheckpoint(shared_ / CheckpointName(entry.step), on_piece).has_value();
}

MoveOutcome CheckpointDirectories::Move(const CheckpointEntry& entry) try {
  const auto name = CheckpointName(entry.step);
  const Pinned pinned(tier_ / name, pins() / name);
  if (FingerprintOf(pinned.path()) != entry.fingerprint) return {MoveEnd::kGone};
  const auto manifest = ManifestOf(pinned.path());
  auto options = options_;
  options.accept = [&](const std::vector<OutFile>& files) { CheckAgainst(manifest, pinned.path(), files); };
  const auto staged = StageOutDirectory(pinned.path(), shared_ / name, options);
  whole_[{entry.step, entry.fingerprint}] = true;
  return {MoveEnd::kMoved, {entry.step, staged.bytes, staged.elapsed}};
} catch (const Torn& torn) {
  torn_[{entry.step, entry.fingerprint}] = torn.reason;
  return {MoveEnd::kTorn, {}, torn.reason};
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kInterrupted && !IsThere(tier_ / CheckpointName(entry.step))) return {MoveEnd::kGone};
  throw;
} catch (const fs::filesystem_error& error) {
  throw SystemError(error.code().value(), fmt::format("cannot copy '{}'", error.path1().string()));
}

fs::path CheckpointDirectories::PlaceOfTorn(const CheckpointEntry& entry) const {
  return shared_ / (std::string(kTornPrefix) + CheckpointName(entry.step));
}

bool CheckpointDirectories::HasKept(const CheckpointEntry& entry) const {
  return IsCopied(tier_ / CheckpointName(entry.step), PlaceOfTorn(entry), options_);
}

TornCheckpoint CheckpointDirectories::KeepTorn(const CheckpointEntry& entry) {
  const auto name = CheckpointName(entry.step);
  const auto known = torn_.find({entry.step, entry.fingerprint});
  TornCheckpoint torn{entry.step, known != torn_.end() ? known->second : DamageOf(tier_ / name), PlaceOfTorn(entry)};
  // An earlier end that failed elsewhere may have copied it. Not all file systems can replace a directory (Publish).
  if (!HasKept(entry)) StageOutDirectory(tier_ / name, torn.kept_in, options_);
  return torn;
}

void CheckpointDirectories::RemoveFromTier(const CheckpointEntry& entry) { RemoveCheckpoint(tier_, entry); }
void CheckpointDirectories::RemoveFromShared(const CheckpointEntry& entry) { RemoveCheckpoint(shared_, entry); }

}  // namespace slipway::staging
