#include "staging/network/read_ahead.h"

#include <algorithm>

#include "core/crc32c.h"

namespace slipway::staging {

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
    if (!stop_.exchange(true)) on_error_(Error(ErrorKind::kFailed, error.what()));
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
