/// Reads a node's own chunks with several requests at once and hands them over in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/units.h"
#include "staging/network/chunk.h"
#include "staging/network/source_reader.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Which node reads which part of the files from where they lie. Pure, and the same on every node.
struct Part {
  std::uint32_t file = 0;  ///< index into plan.files
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const Part&) const = default;
};

/// Large files are cut into parts of this size and read by all nodes. So all nodes read near the same place of a file,
/// and chunks arrive nearly in order.
inline constexpr std::uint64_t kPartBytes = 16 << 20;

/// Shares the bytes of `files` out to `readers` nodes. Files that are small compared with a node's share stay whole;
/// others are cut into parts of kPartBytes. The largest go first, each to the reader with the least (LPT).
///
/// Result: for each reader its parts, files in `order` (empty: as they are), offsets ascending. Every byte is in
///         exactly one part. No reader has more than total / readers + max(kPartBytes, total / readers / 4) bytes.
std::vector<std::vector<Part>> SharesOf(const std::vector<SourceFile>& files, const std::vector<std::size_t>& order,
                                        std::size_t readers);

/// The parts cut into pieces of at most kChunkBytes, in their order.
std::vector<Part> ChunksOf(const std::vector<Part>& parts);

struct ReadAheadOptions {
  std::size_t requests = 8;  ///< at once
  std::size_t chunks = 24;   ///< in memory at most
  Bytes bandwidth = {};      ///< a second; 0: no limit
  std::uint32_t reader = 0;  ///< this node's number
};

class ReadAhead {
 public:
  /// `on_chunk` gets the chunks one at a time in their order, `on_error` the first error; both on reading threads.
  ReadAhead(std::vector<Part> chunks, SourceReader& source, const ReadAheadOptions& options,
            std::function<void(ChunkPtr)> on_chunk, std::function<void(const Error&)> on_error);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  /// Waits for the requests that are under way.
  ~ReadAhead();

  std::size_t count() const { return chunks_.size(); }
  Bytes bytes_read() const { return Bytes{bytes_read_}; }
  /// The index of a chunk whose request has lasted since before `since`, or count().
  std::size_t SlowerThan(SteadyTime since) const;
  const Part& chunk(std::size_t index) const { return chunks_[index]; }

 private:
  struct Request {
    std::atomic<SteadyTime::rep> began{0};  ///< 0: none
    std::atomic<std::size_t> index{0};
  };
  struct OpenedFile {
    std::once_flag opened;
    std::int64_t ctime_ns = 0;
    std::atomic<std::size_t> left{0};
  };

  void Work(Request& request);
  void ReadOne(std::size_t index, const ChunkPtr& chunk, Request& request);
  void WaitForTurn(std::size_t bytes);
  void HandOver(std::size_t index, ChunkPtr chunk);

  const std::vector<Part> chunks_;
  SourceReader& source_;
  const ReadAheadOptions options_;
  const std::function<void(ChunkPtr)> on_chunk_;
  const std::function<void(const Error&)> on_error_;
  std::map<std::uint32_t, OpenedFile> files_;
  std::shared_ptr<ChunkPool> pool_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> bytes_read_{0};
  std::mutex pace_mutex_;
  SteadyTime pace_{};
  std::mutex order_mutex_;
  std::map<std::size_t, ChunkPtr> finished_;
  std::size_t handed_over_ = 0;
  std::vector<Request> requests_;
  std::vector<std::jthread> threads_;
};

}  // namespace slipway::staging
