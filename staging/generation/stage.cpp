#include "staging/generation/stage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "core/clock.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/lock_holders.h"
#include "core/log.h"
#include "core/share_out.h"
#include "staging/copy/copy.h"
#include "staging/copy/copy_pool.h"
#include "staging/copy/own_sums.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/dataset/utf8_name.h"
#include "staging/generation/owner.h"
#include "staging/generation/private_directory.h"
#include "staging/generation/reservation.h"
#include "staging/generation/resume.h"
#include "staging/plan/source_stat.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// "3.00 GB, 1.00 GB is available", or the same for inodes where these are what lacks.
std::string Shortage(const SpaceNeed& need, const FreeSpace& available) {
  if (need.inodes > available.inodes) return fmt::format("{} inodes, {} are available", need.inodes, available.inodes);
  return fmt::format("{}, {} is available", FormatBytes(need.bytes), FormatBytes(available.bytes));
}

Error NotEnoughSpace(const StagingPlan& plan, const FreeSpace& available) {
  return Error(ErrorKind::kEnvironment,
               fmt::format("tier '{}' ('{}') is full: dataset '{}' needs {}", plan.tier, plan.root.string(),
                           plan.request.name, Shortage(NeedOf(plan.files), available)),
               fmt::format("free space with slipway stage gc --tier {}, or name another tier in data.{}.tier",
                           plan.tier, plan.request.name));
}

/// What is free on the file system says nothing then.
Error OverQuota(const StagingPlan& plan, const SystemError& error) {
  return Error(ErrorKind::kEnvironment,
               fmt::format("tier '{}' ('{}'): dataset '{}' goes beyond your quota there: {}", plan.tier,
                           plan.root.string(), plan.request.name, error.message()),
               fmt::format("free space there, or name another tier in data.{}.tier", plan.request.name));
}

/// Says who is waited for and asks whether to go on. Finding out who costs a look at all locks: once a second.
class Waiting {
 public:
  /// `total` is reported in the progress; it is 0 while no process works on this data yet.
  Waiting(const StagingPlan& plan, const StageOptions& options, Bytes total, std::string for_what,
          std::function<std::optional<std::string>()> who)
      : plan_(plan), options_(options), total_(total), for_what_(std::move(for_what)), who_(std::move(who)) {}

  void operator()() {
    CheckCancelled(plan_, options_);
    if (!options_.progress) return;
    const auto now = SystemClock().Steady();
    if (text_.empty() || now > asked_ + std::chrono::seconds(1)) {
      const auto who = who_();
      text_ = fmt::format("waiting: {}{}", for_what_, who ? fmt::format(" ({})", *who) : "");
      asked_ = now;
    }
    options_.progress({{}, total_, text_});
  }

 private:
  const StagingPlan& plan_;
  const StageOptions& options_;
  const Bytes total_;
  const std::string for_what_;
  const std::function<std::optional<std::string>()> who_;
  std::string text_;
  SteadyTime asked_{};
};

std::optional<Reservation> Reserve(const StagingPlan& plan, const StageOptions& options) {
  if (ReadsInPlace(plan)) return {};
  const auto need = NeedOf(plan.files);
  const auto found = SizeOfFound(plan, options.found);
  Waiting waiting(plan, options, {}, "another run counts the free space of this tier",
                  [&] { return Describe(HoldersOf(Reservation::Ledger(plan.root))); });
  FreeSpace available;
  auto reservation = Reservation::Take(plan, need, available, std::ref(waiting), found);
  if (!reservation) throw NotEnoughSpace(plan, available);
  return reservation;
}

void Link(const SourceFile& file, const fs::path& link) {
  if (::symlink(file.path.native().c_str(), link.c_str()) != 0 && errno != EEXIST) {
    ThrowErrno(fmt::format("cannot create '{}'", link.string()));
  }
}

/// The directories of all files, each asked for once.
void MakeTree(const StagingPlan& plan, const fs::path& directory) {
  std::unordered_set<std::string_view> made;
  std::string_view last = "/";  // of files that are sorted by name, most lie where the one before does
  for (const auto& file : plan.files) {
    const std::string_view name = file.name.native();
    const auto parent = name.substr(0, name.rfind('/') + 1);
    if (parent == std::exchange(last, parent)) continue;
    if (made.insert(parent).second) MakeDirectories(directory / parent);
  }
}

std::vector<CopiedFile> LinkAndCheck(const StagingPlan& plan, const fs::path& directory, const StageOptions& options) {
  for (const auto& file : plan.files) Link(file, directory / file.name);
  if (plan.request.verify == VerifyMode::kOff) return std::vector<CopiedFile>(plan.files.size());
  return CopyAll(plan, {}, {plan.request.format, plan.request.verify}, options);
}

/// What is in the private directory, and which of the files found were not as they should be.
struct Filled {
  std::vector<CopiedFile> files;
  std::vector<MendedFile> mended = {};
  std::optional<Hdf5Verification> own_sums = {};
};

Filled CopyFiles(const StagingPlan& plan, const PrivateDirectory& directory, const StageOptions& options) {
  WriteListing(directory.path(), RenderListingOf(plan));
  JournalArrivals journal(directory.path(), plan, directory.leftover(), directory.owner());
  if (!options.order.empty()) journal.TellAtOnce();  // the order of first use is for readers that follow
  const auto& copy = options.copier ? options.copier : Copier(CopyAll);
  auto kept = directory.leftover().kept;
  const auto refused = TakeOver(plan, options.found, directory.path(), kept);
  auto copied =
      copy(plan, directory.path(), {plan.request.format, plan.request.verify, std::move(kept), &journal}, options);
  journal.Flush();  // a reader that follows it sees the end
  auto mended = MendedFiles(plan, refused, copied);
  return {std::move(copied), std::move(mended)};
}

/// What the plan says of a file.
void FillEntry(const SourceFile& file, ManifestFile& entry) {
  entry.path = file.name.native();
  entry.bytes = file.size;
  entry.source = file.path.native();
  MakeUtf8Name(entry.source);
  entry.mtime_ns = file.mtime_ns;
  entry.inode = file.inode;
}

ManifestTotals TotalsOf(const std::vector<CopiedFile>& copied, Bytes total) {
  ManifestTotals totals{total, 0};
  for (const auto& file : copied) {
    totals.records = totals.records && file.records ? std::optional(*totals.records + *file.records) : std::nullopt;
  }
  return totals;
}

/// Without the files.
Manifest ManifestHeadFor(const StagingPlan& plan) {
  return {plan.request.name,
          plan.request.format,
          plan.request.verify,
          FormatUtc(SystemClock().Now()),
          plan.generation,
          {},
          {}};
}

void WriteManifestOf(const StagingPlan& plan, const std::vector<CopiedFile>& copied, std::optional<ManifestIndex> index,
                     const fs::path& directory) {
  auto head = ManifestHeadFor(plan);
  head.index = std::move(index);
  WriteManifest(directory / kManifestName, head, TotalsOf(copied, plan.total), plan.files.size(),
                [&](std::size_t i, ManifestFile& entry) {
                  FillEntry(plan.files[i], entry);
                  entry.crc32c = copied[i].crc32c;
                  entry.records = copied[i].records;
                });
}

/// Where the records begin fell out of the check. Nothing where the format has no records, or nothing was checked.
std::optional<ManifestIndex> WriteIndex(const StagingPlan& plan, std::vector<CopiedFile>& copied,
                                        const fs::path& directory) {
  if (!HasRecordIndex(plan.request.format) || plan.request.verify == VerifyMode::kOff) return {};
  // What an older Slipway has left in the journal may lack the places.
  const auto has_places = [](const CopiedFile& file) { return file.records == file.record_offsets.size(); };
  if (!std::ranges::all_of(copied, has_places)) return {};
  std::vector<RecordIndex> indices;
  for (std::size_t i = 0; i < copied.size(); ++i) {
    indices.push_back({std::move(copied[i].record_offsets), copied[i].record_bytes});
  }
  const auto bytes = EncodeRecordIndices(indices);
  WriteFileDurably(directory / kRecordIndexName, bytes);
  return ManifestIndex{std::string(kRecordIndexName), Bytes{bytes.size()}, Crc32c(bytes)};
}

Filled CopyAndCompare(const StagingPlan& plan, PrivateDirectory& directory, const StageOptions& options) {
  auto filled = CopyFiles(plan, directory, options);
  directory.Sync();
  if (ReadsAgain(plan.request.verify)) CompareAll(plan, directory.path(), filled.files, options);
  return filled;
}

Filled Fill(const StagingPlan& plan, PrivateDirectory& directory, const StageOptions& options) {
  MakeTree(plan, directory.path());
  auto filled = ReadsInPlace(plan) ? Filled{LinkAndCheck(plan, directory.path(), options)}
                                   : CopyAndCompare(plan, directory, options);
  if (ComparesOwnSums(plan.request)) filled.own_sums = CompareAllOwnSums(plan, directory.path(), options);
  return filled;
}

Bytes KeptOf(const std::vector<CopiedFile>& files) {
  return std::accumulate(files.begin(), files.end(), Bytes{},
                         [](Bytes sum, const CopiedFile& file) { return Bytes{sum.count + file.kept.count}; });
}

/// What had not to be copied, what of it had to be after all, and what the files' own sums said.
struct Spared {
  Bytes bytes;
  std::vector<MendedFile> mended;
  std::optional<Hdf5Verification> own_sums;
};

Spared FillAndPublish(const StagingPlan& plan, PrivateDirectory& directory, const StageOptions& options) {
  auto [copied, mended, own_sums] = Fill(plan, directory, options);
  directory.owner().CheckIn(directory.path());  // from here on files are written by their names
  const auto kept = KeptOf(copied);
  auto index = WriteIndex(plan, copied, directory.path());
  WriteManifestOf(plan, copied, std::move(index), directory.path());
  for (const auto name : {kJournalName, kListingName}) ::unlink((directory.path() / name).c_str());
  directory.Publish();
  return {kept, std::move(mended), std::move(own_sums)};
}

void KeepForTheNextRun(const StagingPlan& plan, PrivateDirectory& directory, Error& failure) {
  const auto kept = directory.Keep();
  if (kept.count == 0) return;
  failure.AddContext(
      fmt::format("{} that have arrived are kept for the next run; 'slipway stage gc --tier {}' removes "
                  "them",
                  FormatBytes(kept), plan.tier));
}

Spared Build(const StagingPlan& plan, const Generation& generation, const StageOptions& options) {
  PrivateDirectory directory(generation, plan);
  try {
    return FillAndPublish(plan, directory, options);
  } catch (Error& failure) {
    if (!ReadsInPlace(plan) && IsWorthResuming(failure)) KeepForTheNextRun(plan, directory, failure);
    throw;
  }
}

/// A full tier is said in the tier's words; by then the private directory is gone, so the numbers are those that count.
Spared BuildInTier(const StagingPlan& plan, const Generation& generation, const StageOptions& options) {
  const auto reservation = Reserve(plan, options);
  try {
    return Build(plan, generation, options);
  } catch (const SystemError& error) {
    if (error.code() == EDQUOT) throw OverQuota(plan, error);
    if (error.code() != ENOSPC) throw;
    throw NotEnoughSpace(plan, FreeSpaceIn(plan));
  }
}

/// `directory` is open as `directory_fd`: a walk along its path for each file would cost as much as the look itself.
bool HasStagedFile(const StagingPlan& plan, int directory_fd, const SourceFile& file) {
  struct stat info {};
  if (::fstatat(directory_fd, file.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (ReadsInPlace(plan)) return S_ISLNK(info.st_mode);
  return S_ISREG(info.st_mode) && Bytes{static_cast<std::uint64_t>(info.st_size)} == file.size;
}

bool HasIndex(const FoundManifest& manifest, const fs::path& directory) {
  if (!manifest.index) return true;
  std::error_code error;
  return fs::file_size(directory / kRecordIndexName, error) == manifest.index->bytes.count && !error;
}

/// Exactly the plan's files in the plan's generation. A damaged one is none: the generation is staged again.
bool HasManifest(const StagingPlan& plan, const fs::path& directory) {
  const auto found = FindManifestOf(directory / kManifestName, ManifestHeadFor(plan), plan.files.size(),
                                    [&](std::size_t i, ManifestFile& entry) { FillEntry(plan.files[i], entry); });
  return found && HasIndex(*found, directory);
}

/// Calls `use` with each file, several at once: on a far file system each look waits.
void ForEachFile(const StagingPlan& plan, const std::function<void(const SourceFile&)>& use) {
  constexpr std::size_t kAtOnce = 32;
  constexpr std::size_t kWorthAThread = 64;
  std::atomic<bool> stopped{false};
  ShareOut(plan.files.size(), std::min(kAtOnce, plan.files.size() / kWorthAThread + 1), stopped,
           [&]() -> Worker { return [&](std::size_t i) { use(plan.files[i]); }; });
}

bool IsPublished(const StagingPlan& plan, const fs::path& directory) {
  if (!HasManifest(plan, directory)) return false;
  const auto opened = OpenFile(directory, O_PATH | O_DIRECTORY);
  std::atomic<bool> whole{true};
  ForEachFile(plan, [&](const SourceFile& file) {
    if (whole && !HasStagedFile(plan, opened.get(), file)) whole = false;
  });
  return whole;
}

void RemoveDamaged(const Generation& generation) {
  std::error_code error;
  if (fs::symlink_status(generation.Published(), error).type() == fs::file_type::not_found) return;
  if (const auto unused = generation.TryLockUsers()) {
    generation.Evict();
    return;
  }
  throw Error(ErrorKind::kBusy,
              fmt::format("the staged copy '{}' is damaged, and another run uses it", generation.Published().string()),
              "end that run, then start again");
}

/// The lock first; then another machine, for which the lock may not count.
FileLock WaitForTurn(const StagingPlan& plan, const Generation& generation, const StageOptions& options) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  const auto waiting_for = [&](std::function<std::optional<std::string>()> who) {
    return Waiting(plan, options, plan.total, "another run stages the same data", std::move(who));
  };
  auto local = waiting_for([&] { return generation.WhoStages(); });
  auto turn = generation.LockForStaging(std::ref(local));
  const auto elsewhere = [&] { return WhoWorksIn(generation.Private()); };
  for (auto remote = waiting_for(elsewhere); elsewhere(); SystemClock().Sleep(kPause)) remote();
  return turn;
}

/// Housekeeping: what cannot be removed is no reason not to stage.
void RemoveOldLeftovers(const fs::path& root) {
  try {
    RemoveLeftovers(root, kLeftoverAge);
  } catch (const Error& error) {
    log::Warn("{}", error.what());
  }
}

StagedDataset StageInRoot(const StagingPlan& plan, const StageOptions& options) {
  const Generation generation(plan.root, plan.generation);
  generation.Prepare();
  RemoveOldLeftovers(plan.root);
  const auto turn = WaitForTurn(plan, generation, options);
  StagedDataset staged;
  staged.name = plan.request.name;
  staged.directory = generation.Published();
  staged.manifest = staged.directory / kManifestName;
  staged.adopted = IsPublished(plan, staged.directory);
  if (staged.adopted) {
    ForEachFile(plan, [](const SourceFile& file) { CheckUnchanged(file, StatSource(file.path.native())); });
  } else {
    RemoveDamaged(generation);
    auto spared = BuildInTier(plan, generation, options);
    staged.kept = spared.bytes;
    staged.found = !options.found.directory.empty();
    staged.mended = std::move(spared.mended);
    staged.own_sums = std::move(spared.own_sums);
    if (!ReadsInPlace(plan)) staged.copied.count = plan.total.count - staged.kept.count;
  }
  if (!options.found.directory.empty()) RemoveTree(options.found.directory);  // what was not taken is of no use
  staged.lease = generation.Lease();
  return staged;
}

}  // namespace

StagedDataset Stage(const StagingPlan& plan, const StageOptions& options) {
  if (plan.layout == Layout::kStream) {
    throw Error(ErrorKind::kUsage,
                fmt::format("dataset '{}' is planned as a window of its files, which cannot be "
                            "staged as a whole",
                            plan.request.name),
                "name a tier that holds the whole dataset");
  }
  const auto started = SystemClock().Steady();
  std::optional<StagingPlan> moved;  // its files are many: no second list of them without need
  if (ReadsInPlace(plan)) moved.emplace(plan).root = options.link_root;
  const auto& placed = moved ? *moved : plan;
  PrepareRoot(placed);
  auto staged = StageInRoot(placed, options);
  staged.elapsed = SystemClock().Steady() - started;
  return staged;
}

}  // namespace slipway::staging
