#include "staging/stream/stream_stager.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "staging/copy/bandwidth.h"
#include "staging/copy/copy.h"
#include "staging/copy/copy_pool.h"
#include "staging/copy/medium.h"
#include "staging/copy/own_sums.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/record_index.h"
#include "staging/generation/generation.h"
#include "staging/plan/tiers.h"
#include "staging/reader/sharding.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

/// Where a file lies until it is whole.
constexpr std::string_view kIncoming = ".incoming";
constexpr int kMostStreams = 64;

StreamClaim ClaimName(const StagingPlan& plan) {
  PrepareRoot(plan);
  for (int number = 0; number < kMostStreams; ++number) {
    auto name = fmt::format("{}{}{}", plan.generation, kStreamSuffix, number);
    const Generation generation(plan.root, name);
    generation.Prepare();
    auto lock = generation.TryLockForStaging();
    if (lock && !WhoWorksIn(generation.Private())) return {std::move(name), std::move(*lock)};
  }
  throw Error(ErrorKind::kBusy,
              fmt::format("{} runs stream dataset '{}' through '{}' already", kMostStreams, plan.request.name,
                          plan.root.string()),
              "wait until one of them has ended, or name another tier");
}

fs::path MakeDirectory(const StagingPlan& plan, const std::string& name) {
  const auto directory = Generation(plan.root, name).Private();
  RemoveTree(directory);
  for (const auto& file : plan.files) {
    MakeDirectories((directory / kIncoming / file.name).parent_path());
    MakeDirectories((directory / file.name).parent_path());
  }
  MakeDirectories(directory / kStreamIndexDirectory);
  WriteListing(directory, RenderListingOf(plan));
  return directory;
}

Reservation Reserve(const StagingPlan& plan, const std::string& name) {
  const auto all = NeedOf(plan.files);
  const SpaceNeed need{plan.window, 2 * all.inodes};  // a file and its index
  auto stream = plan;
  stream.generation = name;  // it lies and is locked under its own name
  FreeSpace available;
  auto reservation = Reservation::Take(stream, need, available);
  if (reservation) return std::move(*reservation);
  throw Error(
      ErrorKind::kEnvironment,
      fmt::format("tier '{}' ('{}') is full: the window of dataset '{}' needs {}, {} is available", plan.tier,
                  plan.root.string(), plan.request.name, FormatBytes(plan.window), FormatBytes(available.bytes)),
      fmt::format("free space there, or name another tier in data.{}.tier", plan.request.name));
}

/// Half of the window for what comes, the other half for what may be used again.
std::uint64_t AheadFor(const std::vector<Bytes>& sizes, Bytes capacity) {
  const auto largest = std::max<std::uint64_t>(1, std::ranges::max(sizes).count);
  return std::max<std::uint64_t>(1, capacity.count / (2 * largest));
}

/// For a cancel, for readers that are gone, and for those that wait for each other.
constexpr auto kLook = std::chrono::milliseconds(50);

/// Whether readers get on.
class Movement {
 public:
  /// True when nothing has changed for so long that readers may wait for each other.
  bool Look(const std::vector<StreamReader>& readers) {
    if (readers != readers_) Begin();
    readers_ = readers;
    return SystemClock().Steady() - since_ >= kLook;
  }
  void Begin() { since_ = SystemClock().Steady(); }

 private:
  std::vector<StreamReader> readers_;
  SteadyTime since_ = SystemClock().Steady();
};

/// The first block in which two copies differ.
std::optional<std::size_t> Difference(const std::vector<std::uint32_t>& one, const std::vector<std::uint32_t>& other) {
  const auto [at, unused] = std::ranges::mismatch(one, other);
  if (at == one.end() && one.size() == other.size()) return {};
  return static_cast<std::size_t>(at - one.begin());
}

}  // namespace

/// What copying needs while the stream runs.
class StreamStager::Copies {
 public:
  Copies(const StreamStager& stager, const StageOptions& options)
      : stager_(stager),
        options_(options),
        copy_{stager.plan_.request.format, stager.plan_.request.verify},
        limits_(options.bandwidth),
        copier_(stager.directory_ / kIncoming, copy_, limits_) {}

  CopiedFile Copy(std::size_t index) {
    const auto& source = stager_.plan_.files[index];
    const auto before = stager_.figures().copied.count;
    auto copied = copier_.Copy(source, index, [&](std::uint64_t done) {
      CheckCancelled(stager_.plan_, options_);
      if (options_.progress) options_.progress({Bytes{before + done}, {}, source.name.string()});
    });
    if (ReadsAgain(stager_.plan_.request.verify)) ReadBack(source, copied);
    return copied;
  }

  std::vector<Hdf5Unread> CompareSums(std::size_t index) const {
    if (!ComparesOwnSums(stager_.plan_.request)) return {};
    const auto& source = stager_.plan_.files[index];
    return CompareOwnSums(source, stager_.directory_ / kIncoming / source.name,
                          [this] { CheckCancelled(stager_.plan_, options_); })
        .unread;
  }

 private:
  void ReadBack(const SourceFile& source, const CopiedFile& copied) const {
    const auto wrong = WrongBlocks(stager_.directory_ / kIncoming / source.name, copied.crc32c,
                                   [&](auto) { CheckCancelled(stager_.plan_, options_); });
    if (!wrong.empty()) ThrowDiffers(source, stager_.directory_, wrong.front());
  }

  const StreamStager& stager_;
  const StageOptions& options_;
  CopyOptions copy_;
  CopyLimits limits_;
  FileCopier copier_;
};

StreamStager::StreamStager(const StagingPlan& plan, std::uint64_t seed, std::size_t readers)
    : plan_(plan),
      claim_(ClaimName(plan)),
      directory_(MakeDirectory(plan, claim_.name)),
      owner_(directory_),
      reservation_(Reserve(plan, claim_.name)),
      state_(StreamState::Create(directory_, {plan.files.size(), readers, seed})),
      uses_(plan.files.size(), [count = plan.files.size(), seed](auto epoch) { return FileOrder(count, seed, epoch); }),
      present_(plan.files.size()),
      crcs_(plan.files.size()) {
  for (const auto& file : plan.files) sizes_.push_back(file.size);
}

StreamStager::~StreamStager() {
  std::error_code ignored;
  if (state_.status() == StreamStatus::kRunning) state_.SetStatus(StreamStatus::kEnded);
  if (!owner_.lost()) fs::remove_all(directory_, ignored);
}

/// For readers; a full tier must not hide the failure itself.
void StreamStager::TellWhy(const Error& failure) const {
  try {
    WriteFileAtomically(directory_ / kStreamFailureName, failure.message());
  } catch (const Error& error) {
    log::Warn("{}", error.what());
  }
}

void StreamStager::Run(const StageOptions& options) {
  try {
    Serve(options);
  } catch (const Error& error) {
    const bool cancelled = error.kind() == ErrorKind::kInterrupted;
    if (!cancelled) TellWhy(error);
    state_.SetStatus(cancelled ? StreamStatus::kEnded : StreamStatus::kFailed);
    throw;
  }
}

void StreamStager::Serve(const StageOptions& options) {
  Copies copies(*this, options);
  const auto ahead = AheadFor(sizes_, plan_.window);
  std::uint32_t seen = 0;
  Movement movement;
  std::optional<std::pair<std::vector<StreamReader>, bool>> waited_at;
  while (true) {
    CheckCancelled(plan_, options);
    owner_.Check();
    const auto readers = state_.Readers();
    const bool stalled = movement.Look(readers);
    const auto action = waited_at == std::pair(readers, stalled)
                            ? StreamAction(WaitForReaders{})
                            : NextAction({sizes_, readers, present_, plan_.window, ahead, stalled}, uses_);
    waited_at.reset();
    if (const auto* copy = std::get_if<CopyFile>(&action)) {
      Copy(copy->file, copies);
      movement.Begin();
    } else if (const auto* evict = std::get_if<EvictFile>(&action)) {
      Evict(evict->file);
    } else {
      waited_at = {readers, stalled};
      seen = state_.AwaitReaders(seen, kLook);
    }
  }
}

void StreamStager::Copy(std::size_t file, Copies& copies) {
  const auto& source = plan_.files[file];
  auto copied = copies.Copy(file);
  if (crcs_[file].empty()) {  // later copies have the bytes of the first one
    crcs_[file] = copied.crc32c;
    AddUnread(copies.CompareSums(file));
    if (!copied.record_offsets.empty()) {
      const RecordIndex index{std::move(copied.record_offsets), copied.record_bytes};
      WriteFile(directory_ / kStreamIndexDirectory / std::to_string(file), EncodeRecordIndices({&index, 1}));
    }
  } else if (const auto block = Difference(crcs_[file], copied.crc32c)) {
    throw Error(
        ErrorKind::kEnvironment,
        fmt::format("'{}' is not what it was when it was copied first: the bytes from {} on differ, although its "
                    "size and times are the same",
                    source.path.string(), *block * kCrcBlock),
        "find out who changes the source while it is read, or whether its storage returns wrong bytes");
  }
  const auto arrived = directory_ / source.name;
  if (::rename((directory_ / kIncoming / source.name).c_str(), arrived.c_str()) != 0) {
    ThrowErrno(fmt::format("cannot create '{}'", arrived.string()));
  }
  present_[file] = true;
  copied_ += source.size.count;
  ++copies_;
  state_.SetPresent(file, true);
}

void StreamStager::AddUnread(std::vector<Hdf5Unread> more) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(more, std::back_inserter(unread_));
}

std::vector<Hdf5Unread> StreamStager::unread() const {
  const std::lock_guard lock(mutex_);
  return unread_;
}

/// Removes a file unless a reader wants it: the space of an open file would not become free. The stager marks it as
/// absent and then looks what readers want; a reader does the reverse. So at least one of the two sees the other.
void StreamStager::Evict(std::size_t file) {
  state_.SetPresent(file, false);
  const auto wants_it = [&](const StreamReader& reader) { return reader.wants && uses_.FileOf(*reader.wants) == file; };
  if (std::ranges::any_of(state_.Readers(), wants_it)) return state_.SetPresent(file, true);
  const auto path = directory_ / plan_.files[file].name;
  if (::unlink(path.c_str()) != 0) ThrowErrno(fmt::format("cannot remove '{}'", path.string()));
  present_[file] = false;
  ++evictions_;
}

}  // namespace slipway::staging
