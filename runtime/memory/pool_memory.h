/// Owner of a block of slipway_alloc memory.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/memory/shared_pool.h"

namespace slipway::runtime {

/// A block of slipway_alloc memory that frees itself.
class PoolMemory {
 public:
  PoolMemory(SharedPool& pool, std::int64_t bytes) : pool_(&pool), memory_(pool.Allocate(bytes)) {}
  PoolMemory(PoolMemory&& other) noexcept : pool_(other.pool_), memory_(std::exchange(other.memory_, nullptr)) {}
  PoolMemory& operator=(PoolMemory&&) = delete;
  ~PoolMemory() {
    if (memory_ != nullptr) pool_->Free(memory_);
  }
  char* data() const { return static_cast<char*>(memory_); }

 private:
  SharedPool* pool_;
  void* memory_;
};

}  // namespace slipway::runtime
