#include "staging/network/assembly.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/memory_left.h"
#include "staging/formats/positioned_io.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {

void OpenFiles::Keep(std::uint32_t file, UniqueFd fd) {
  if (open_.size() == most_) {
    open_.erase(std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.second.used; }));
  }
  open_[file] = {std::move(fd), ++uses_};
}

int OpenFiles::Get(std::uint32_t file, const std::filesystem::path& path) {
  if (!open_.contains(file)) Keep(file, OpenFile(path, O_RDWR | O_NOFOLLOW));
  auto& opened = open_.at(file);
  opened.used = ++uses_;
  return opened.fd.get();
}

namespace fs = std::filesystem;

/// A file that is not complete yet.
struct Assembly::Entry {
  fs::path path;
  std::unique_ptr<StreamCheck> check;
  std::int64_t ctime_ns = 0;
  std::vector<std::uint32_t> crc32c;
  std::uint64_t written = 0;
  std::uint64_t checked = 0;                      ///< all bytes before are written and checked
  std::map<std::uint64_t, std::uint64_t> beyond;  ///< begin -> end of what is written but not checked
};

namespace {

constexpr std::size_t kMostOpen = 128;              // as many files as readers may be under way
constexpr std::uint64_t kReservedAtOnce = 1 << 30;  // one step, however large the file is
constexpr std::uint64_t kReservedInMemory = MemoryAllowance::kStep;

}  // namespace

Assembly::Assembly(const StagingPlan& plan, fs::path directory, const CopyOptions& options,
                   std::function<void()> on_step)
    : plan_(plan),
      directory_(std::move(directory)),
      options_(options),
      on_step_(std::move(on_step)),
      files_(kMostOpen),
      results_(plan.files.size()),
      left_(plan.files.size()),
      buffer_(kCopyBlock),
      memory_(options.memory),
      in_memory_(LivesInMemory(directory_)) {
  for (std::uint32_t i = 0; i < plan.files.size(); ++i) {
    if (plan.files[i].size.count > 0) continue;
    Chunk nothing;
    nothing.file = i;
    Finish(i, EntryOf(nothing));
  }
}

Assembly::~Assembly() = default;

Assembly::Entry& Assembly::EntryOf(const Chunk& chunk) {
  auto& entry = open_[chunk.file];
  const auto& file = plan_.files[chunk.file];
  if (!entry) {
    entry = std::make_unique<Entry>();
    entry->path = directory_ / file.name;
    files_.Keep(chunk.file, Create(entry->path, file.size));
    entry->check = MakeStreamCheck(options_.format, options_.verify, file.path);
    entry->ctime_ns = chunk.ctime_ns;
    entry->crc32c.resize(CrcBlocksOf(file.size));
    if (options_.arrivals != nullptr) options_.arrivals->FileStarted(chunk.file, chunk.ctime_ns);
  }
  if (entry->ctime_ns != chunk.ctime_ns) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' changed while it was being staged", file.path.string()),
                "start again when nothing writes to it any more");
  }
  return *entry;
}

UniqueFd Assembly::Create(const fs::path& path, Bytes size) {
  auto fd = OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW);
  const auto step = in_memory_ ? kReservedInMemory : kReservedAtOnce;
  for (std::uint64_t done = 0; done < size.count; done += step) {
    on_step_();
    Reserve(fd.get(), Bytes{std::min(step, size.count - done)}, path, done);
  }
  return fd;
}

void Assembly::Reserve(int fd, Bytes bytes, const fs::path& path, std::uint64_t offset) {
  if (in_memory_) memory_.Take(bytes, kCopiesInMemory);
  Allocate(fd, bytes, path.native(), offset);
}

void Assembly::Add(const Chunk& chunk) {
  auto& entry = EntryOf(chunk);
  WriteAt(files_.Get(chunk.file, entry.path), chunk.bytes(), chunk.offset, entry.path.native());
  Note(entry, chunk);
  Check(entry, chunk);
  if (entry.written == plan_.files[chunk.file].size.count) Finish(chunk.file, entry);
}

void Assembly::Note(Entry& entry, const Chunk& chunk) {
  const auto block = chunk.offset / kCrcBlock;
  const auto end = chunk.offset + chunk.size;
  const auto before = chunk.offset % kCrcBlock == 0 ? 0 : entry.crc32c[block];
  entry.crc32c[block] = Crc32c(chunk.bytes(), before);
  entry.written += chunk.size;
  bytes_ += chunk.size;
  const bool whole = end % kCrcBlock == 0 || end == plan_.files[chunk.file].size.count;
  if (whole && options_.arrivals != nullptr) options_.arrivals->BlockDone(chunk.file, block, entry.crc32c[block]);
}

/// The check wants the bytes in order. Those that came early are read back: they are still in the page cache.
void Assembly::Check(Entry& entry, const Chunk& chunk) {
  if (chunk.offset != entry.checked) {
    entry.beyond[chunk.offset] = chunk.offset + chunk.size;
    return;
  }
  entry.check->Update(chunk.bytes());
  entry.checked += chunk.size;
  while (!entry.beyond.empty() && entry.beyond.begin()->first == entry.checked) {
    CheckWritten(files_.Get(chunk.file, entry.path), entry, entry.beyond.begin()->second);
    entry.beyond.erase(entry.beyond.begin());
  }
}

void Assembly::CheckWritten(int fd, Entry& entry, std::uint64_t end) {
  while (entry.checked < end) {
    on_step_();
    const auto piece = std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), end - entry.checked));
    ReadAt(fd, entry.checked, piece, entry.path);
    entry.check->Update(piece);
    entry.checked += piece.size();
  }
}

void Assembly::Finish(std::uint32_t file, Entry& entry) {
  auto summary = entry.check->Finish();
  results_[file] = {std::move(entry.crc32c), summary.records, std::move(summary.record_offsets), summary.record_bytes};
  if (options_.arrivals != nullptr) options_.arrivals->FileDone(file, results_[file]);
  open_.erase(file);
  files_.Close(file);
  --left_;
}

}  // namespace slipway::staging
