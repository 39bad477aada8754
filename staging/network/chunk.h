/// A part of a file in memory, on its way through a node.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace slipway::staging {

struct Chunk {
  std::uint32_t reader = 0;  ///< the node that read it from a file
  std::uint32_t file = 0;    ///< index into plan.files
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t crc32c = 0;
  std::int64_t ctime_ns = 0;
  std::unique_ptr<std::byte[]> memory;  ///< kChunkBytes

  std::span<const std::byte> bytes() const { return {memory.get(), size}; }
  std::span<std::byte> bytes() { return {memory.get(), size}; }
};
using ChunkPtr = std::shared_ptr<Chunk>;

/// A fixed number of chunks; a thread that wants one more waits. Memory is kept for the next chunk.
class ChunkPool : public std::enable_shared_from_this<ChunkPool> {
 public:
  /// `on_return` is called by the thread that lets a chunk go.
  static std::shared_ptr<ChunkPool> Make(std::size_t count, std::function<void()> on_return);
  /// Null when all are in use.
  ChunkPtr TryTake();
  /// Waits; null after Close().
  ChunkPtr Take();
  void Close();

 private:
  ChunkPool(std::size_t count, std::function<void()> on_return) : left_(count), on_return_(std::move(on_return)) {}
  ChunkPtr TakeLocked();
  void Return(std::unique_ptr<Chunk> chunk);

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<std::byte[]>> spare_;
  std::size_t left_;
  bool closed_ = false;
  const std::function<void()> on_return_;
};

}  // namespace slipway::staging
