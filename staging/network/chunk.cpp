#include "staging/network/chunk.h"

#include "staging/network/frame.h"

namespace slipway::staging {

std::shared_ptr<ChunkPool> ChunkPool::Make(std::size_t count, std::function<void()> on_return) {
  return std::shared_ptr<ChunkPool>(new ChunkPool(count, std::move(on_return)));
}

ChunkPtr ChunkPool::TakeLocked() {
  --left_;
  auto chunk = std::make_unique<Chunk>();
  if (spare_.empty()) {
    chunk->memory.reset(new std::byte[kChunkBytes]);
  } else {
    chunk->memory = std::move(spare_.back());
    spare_.pop_back();
  }
  return {chunk.release(), [pool = shared_from_this()](Chunk* used) { pool->Return(std::unique_ptr<Chunk>(used)); }};
}

ChunkPtr ChunkPool::TryTake() {
  const std::lock_guard guard(mutex_);
  return left_ == 0 || closed_ ? nullptr : TakeLocked();
}

ChunkPtr ChunkPool::Take() {
  std::unique_lock guard(mutex_);
  returned_.wait(guard, [this] { return left_ > 0 || closed_; });
  return closed_ ? nullptr : TakeLocked();
}

void ChunkPool::Close() {
  const std::lock_guard guard(mutex_);
  closed_ = true;
  returned_.notify_all();
}

void ChunkPool::Return(std::unique_ptr<Chunk> chunk) {
  {
    const std::lock_guard guard(mutex_);
    spare_.push_back(std::move(chunk->memory));
    ++left_;
    returned_.notify_one();
  }
  if (on_return_) on_return_();
}

}  // namespace slipway::staging
