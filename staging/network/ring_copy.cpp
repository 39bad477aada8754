#include "staging/network/ring_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/crc32c.h"
#include "staging/copy/copy_pool.h"

namespace slipway::staging {

RingCopy::RingCopy(const StagingPlan& plan, const NodeGroup& group, const StageOptions& options, Ring& ring,
                   std::vector<bool> lacks, const std::vector<std::uint32_t>& readers,
                   std::unique_ptr<SourceReader> source)
    : plan_(plan),
      group_(group),
      ring_(ring),
      lacks_(lacks[group.number]),
      bandwidth_(options.bandwidth),
      readers_(group.nodes.size()),
      window_(kWindow * group.nodes.size() / readers.size()),
      source_(std::move(source)),
      memory_(ChunkPool::Make(kWindow + 2, [&ring] { ring.Wake(); })) {
  const auto shares = SharesOf(plan.files, options.order, readers.size());
  for (std::size_t i = 0; i < readers.size(); ++i) readers_[readers[i]].chunks = ChunksOf(shares[i]);
  PrepareReaders(readers, lacks);
}

RingCopy::~RingCopy() {
  ring_.Stop();
  reading_.reset();
}

std::uint32_t RingCopy::After(std::uint32_t node) const {
  return (node + 1) % static_cast<std::uint32_t>(group_.nodes.size());
}

void RingCopy::PrepareReaders(const std::vector<std::uint32_t>& readers, const std::vector<bool>& lacks) {
  for (const auto reader : readers) {
    auto& entry = readers_[reader];
    for (auto node = After(group_.number); node != reader && reader != group_.number; node = After(node)) {
      entry.goes_on = entry.goes_on || lacks[node];
    }
    if (reader == group_.number) {
      for (auto node = After(reader); node != reader; node = After(node)) entry.goes_on = entry.goes_on || lacks[node];
    }
    entry.ends_here = reader != group_.number && lacks_ && !entry.goes_on;
  }
}

void RingCopy::Start() {
  ring_.Start(*this);
  auto& own = readers_[group_.number];
  if (own.chunks.empty()) return;
  ReadAheadOptions options;
  options.bandwidth = bandwidth_;
  options.reader = group_.number;
  auto reading = std::make_unique<ReadAhead>(
      own.chunks, *source_, options, [this](ChunkPtr chunk) { OnOwn(std::move(chunk)); },
      [this](const Error& error) { ring_.Fail(error); });
  const std::lock_guard guard(mutex_);
  reading_ = std::move(reading);
}

Bytes RingCopy::bytes_read() const { return reading_ ? reading_->bytes_read() : Bytes{}; }

void RingCopy::OnOwn(ChunkPtr chunk) {
  {
    const std::lock_guard guard(mutex_);
    if (lacks_) to_write_.push_back(chunk);
    if (readers_[group_.number].goes_on) to_send_.push_back(std::move(chunk));
    arrived_.notify_one();
  }
  ring_.Wake();
}

ChunkPtr RingCopy::TakeMemory() { return memory_->TryTake(); }

/// Why a chunk is refused; empty: it is the expected one. Every node knows which reader sends what in which order, so
/// nothing is taken on trust.
std::string RingCopy::Unfit(const Reader& reader, const Chunk& chunk) const {
  if (reader.arrived == reader.chunks.size()) return "an unexpected chunk";
  const auto& expected = reader.chunks[reader.arrived];
  const Part part{chunk.file, chunk.offset, chunk.offset + chunk.size};
  if (part != expected) return fmt::format("a chunk of file {} that is not the next one", chunk.file);
  if (Crc32c(chunk.bytes()) == chunk.crc32c) return {};
  return fmt::format("bytes {} to {} of '{}' damaged on the way (read by {}): their CRC32C differs", part.begin,
                     part.end, plan_.files[part.file].name.string(), NodeName(group_, chunk.reader));
}

void RingCopy::OnChunk(ChunkPtr chunk) {
  const auto count = static_cast<std::uint32_t>(group_.nodes.size());
  const auto sender = (group_.number + count - 1) % count;
  static const Reader kNobody;
  const bool known = chunk->reader < count && chunk->reader != group_.number;
  const auto wrong = Unfit(known ? readers_[chunk->reader] : kNobody, *chunk);
  if (!wrong.empty()) {
    ring_.Fail(
        Error(ErrorKind::kEnvironment,
              fmt::format("{} received from {} {}", NodeName(group_, group_.number), NodeName(group_, sender), wrong),
              "look at the network and the memory of these two nodes, then start again"));
    return;
  }
  auto& reader = readers_[chunk->reader];
  ++reader.arrived;
  if (reader.goes_on) ring_.Forward(chunk);
  if (!lacks_) return;
  const std::lock_guard guard(mutex_);
  to_write_.push_back(std::move(chunk));
  arrived_.notify_one();
}

void RingCopy::OnTaken() {
  const std::lock_guard guard(mutex_);
  if (under_way_ > 0) --under_way_;
}

ChunkPtr RingCopy::NextOwn() {
  const std::lock_guard guard(mutex_);
  if (to_send_.empty() || under_way_ >= window_) return nullptr;
  ++under_way_;
  auto chunk = std::move(to_send_.front());
  to_send_.pop_front();
  return chunk;
}

std::string RingCopy::Overdue(SteadyTime now) {
  const auto since = now - group_.file_timeout;
  const std::lock_guard guard(mutex_);
  if (write_began_ != SteadyTime{} && write_began_ < since) {
    return fmt::format("{} has not finished a write to '{}' for {}", NodeName(group_, group_.number),
                       plan_.root.string(), FormatDuration(now - write_began_));
  }
  const auto slow = reading_ ? reading_->SlowerThan(since) : 0;
  if (!reading_ || slow == reading_->count()) return {};
  const auto& part = reading_->chunk(slow);
  return fmt::format("{} has waited for bytes {} to {} of '{}' for more than {}", NodeName(group_, group_.number),
                     part.begin, part.end, plan_.files[part.file].path.string(), FormatDuration(group_.file_timeout));
}

ChunkPtr RingCopy::NextToWrite(const StageOptions& options) {
  while (true) {
    ring_.ThrowIfFailed();
    CheckCancelled(plan_, options);
    std::unique_lock guard(mutex_);
    write_began_ = {};
    if (!arrived_.wait_for(guard, std::chrono::milliseconds(50), [this] { return !to_write_.empty(); })) continue;
    write_began_ = SystemClock().Steady();
    auto chunk = std::move(to_write_.front());
    to_write_.pop_front();
    return chunk;
  }
}

std::vector<CopiedFile> RingCopy::Assemble(const std::filesystem::path& directory, const CopyOptions& copy,
                                           const StageOptions& options) {
  Assembly assembly(plan_, directory, copy, [&] {
    ring_.ThrowIfFailed();
    CheckCancelled(plan_, options);
    const std::lock_guard guard(mutex_);
    write_began_ = SystemClock().Steady();
  });
  while (!assembly.complete()) {
    const auto chunk = NextToWrite(options);
    assembly.Add(*chunk);
    if (chunk->reader != group_.number && readers_[chunk->reader].ends_here) ring_.Taken(chunk->reader);
    if (options.progress) {
      options.progress({Bytes{assembly.bytes()}, plan_.total, plan_.files[chunk->file].name.string()});
    }
  }
  const std::lock_guard guard(mutex_);
  write_began_ = {};
  return assembly.Take();
}

}  // namespace slipway::staging
