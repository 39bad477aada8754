#include "staging/network/read_ahead.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "core/crc32c.h"
#include "staging/network/frame.h"

namespace slipway::staging {
namespace {

std::uint64_t SizeOf(const Part& part) { return part.end - part.begin; }

void Cut(const Part& whole, std::uint64_t size, std::vector<Part>& parts) {
  for (auto begin = whole.begin; begin < whole.end; begin += size) {
    parts.push_back({whole.file, begin, std::min(whole.end, begin + size)});
  }
}

/// Whole files, or parts of those that are more than a quarter of a node's share.
std::vector<Part> PartsOf(const std::vector<SourceFile>& files, std::size_t readers) {
  std::uint64_t total = 0;
  for (const auto& file : files) total += file.size.count;
  const auto most = std::max<std::uint64_t>(kPartBytes, total / readers / 4);
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    const auto size = files[i].size.count;
    Cut({i, 0, size}, size > most ? kPartBytes : std::max<std::uint64_t>(size, 1), parts);
  }
  return parts;
}

/// Where each file stands in the order of first use.
std::vector<std::size_t> PlacesIn(const std::vector<std::size_t>& order, std::size_t files) {
  std::vector<std::size_t> places(files);
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  return places;
}

}  // namespace

std::vector<std::vector<Part>> SharesOf(const std::vector<SourceFile>& files, const std::vector<std::size_t>& order,
                                        std::size_t readers) {
  auto parts = PartsOf(files, readers);
  const auto places = PlacesIn(order, files.size());
  std::stable_sort(parts.begin(), parts.end(), [&](const Part& left, const Part& right) {
    return std::pair(SizeOf(right), places[left.file]) < std::pair(SizeOf(left), places[right.file]);
  });
  using Load = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t reader = 0; reader < readers; ++reader) loads.emplace(0, reader);
  std::vector<std::vector<Part>> shares(readers);
  for (const auto& part : parts) {
    const auto [bytes, reader] = loads.top();
    loads.pop();
    loads.emplace(bytes + SizeOf(part), reader);
    shares[reader].push_back(part);
  }
  for (auto& share : shares) {
    std::sort(share.begin(), share.end(), [&](const Part& left, const Part& right) {
      return std::pair(places[left.file], left.begin) < std::pair(places[right.file], right.begin);
    });
  }
  return shares;
}

std::vector<Part> ChunksOf(const std::vector<Part>& parts) {
  std::vector<Part> chunks;
  for (const auto& part : parts) Cut(part, kChunkBytes, chunks);
  return chunks;
}

ReadAhead::ReadAhead(std::vector<Part> chunks, SourceReader& source, const ReadAheadOptions& options,
                     std::function<void(ChunkPtr)> on_chunk, std::function<void(const Error&)> on_error)
    : chunks_(std::move(chunks)),
      source_(source),
      options_(options),
      on_chunk_(std::move(on_chunk)),
      on_error_(std::move(on_error)),
      pool_(ChunkPool::Make(options.chunks, {})),
      requests_(std::min(options.requests, chunks_.size())) {
  for (const auto& chunk : chunks_) ++files_[chunk.file].left;
  for (auto& request : requests_) threads_.emplace_back([this, &request] { Work(request); });
}

ReadAhead::~ReadAhead() {
  stop_ = true;
  pool_->Close();
  threads_.clear();
}

void ReadAhead::Work(Request& request) {
  try {
    while (!stop_) {
      // The memory first: the chunk with the lowest number always has some, so the order cannot lock up.
      const auto chunk = pool_->Take();
      const auto index = next_++;
      if (!chunk || index >= chunks_.size()) return;
      ReadOne(index, chunk, request);
      HandOver(index, chunk);
    }
  } catch (const Error& error) {
    if (!stop_.exchange(true)) on_error_(error);
  } catch (const std::exception& error) {
    if (!stop_.exchange(true))
      on_error_(Error(ErrorKind::kFailed, error.what(), "see the error above, then start again"));
  }
}

void ReadAhead::ReadOne(std::size_t index, const ChunkPtr& chunk, Request& request) {
  const auto& part = chunks_[index];
  auto& file = files_.at(part.file);
  chunk->reader = options_.reader;
  chunk->file = part.file;
  chunk->offset = part.begin;
  chunk->size = static_cast<std::uint32_t>(part.end - part.begin);
  WaitForTurn(chunk->size);
  request.index = index;
  request.began = SystemClock().Steady().time_since_epoch().count();
  std::call_once(file.opened, [&] { file.ctime_ns = source_.Open(part.file); });
  source_.Read(part.file, part.begin, chunk->bytes());
  bytes_read_ += chunk->size;
  if (--file.left == 0) source_.Close(part.file);
  request.began = 0;
  chunk->ctime_ns = file.ctime_ns;
  chunk->crc32c = Crc32c(chunk->bytes());
}

/// Requests begin no earlier than the limit allows; what was not used does not pile up.
void ReadAhead::WaitForTurn(std::size_t bytes) {
  if (options_.bandwidth.count == 0) return;
  const Seconds cost(static_cast<double>(bytes) / static_cast<double>(options_.bandwidth.count));
  SteadyTime turn;
  {
    const std::lock_guard guard(pace_mutex_);
    turn = std::max(pace_, SystemClock().Steady());
    pace_ = turn + std::chrono::duration_cast<SteadyTime::duration>(cost);
  }
  while (!stop_ && SystemClock().Steady() < turn) {
    SystemClock().Sleep(
        std::min<std::chrono::nanoseconds>(turn - SystemClock().Steady(), std::chrono::milliseconds(50)));
  }
}

void ReadAhead::HandOver(std::size_t index, ChunkPtr chunk) {
  const std::lock_guard guard(order_mutex_);
  finished_.emplace(index, std::move(chunk));
  while (!finished_.empty() && finished_.begin()->first == handed_over_) {
    ++handed_over_;
    on_chunk_(std::move(finished_.extract(finished_.begin()).mapped()));
  }
}

std::size_t ReadAhead::SlowerThan(SteadyTime since) const {
  for (const auto& request : requests_) {
    const auto began = request.began.load();
    if (began != 0 && SteadyTime(SteadyTime::duration(began)) < since) return request.index;
  }
  return chunks_.size();
}

}  // namespace slipway::staging
