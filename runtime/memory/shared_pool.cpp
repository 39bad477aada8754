#include "runtime/memory/shared_pool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <system_error>

#include "runtime/status.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kPage = 4096;

constexpr const char* kPoolBlock = "a block of slipway_alloc";

struct FreeOrdinary {
  void operator()(void* memory) const { std::free(memory); }
};

/// The first write takes a page.
void ZeroInSteps(char* memory, std::size_t size, MemoryAllowance& allowance) {
  constexpr std::size_t kStep = MemoryAllowance::kStep;
  for (std::size_t done = 0; done < size; done += kStep) {
    const auto step = std::min(kStep, size - done);
    allowance.Take(Bytes{step}, kPoolBlock);
    std::memset(memory + done, 0, step);
  }
}

std::int64_t RoundUp(std::int64_t bytes) { return std::max(kPage, (bytes + kPage - 1) / kPage * kPage); }

}  // namespace

SharedPool::~SharedPool() {
  // A program may still hold arrays in what it did not free: that stays until the process ends.
  static auto* const shared = new std::vector<SharedMemory>;
  static auto* const ordinary = new std::vector<void*>;
  for (auto& [first, owned] : shared_) shared->push_back(std::move(owned.memory));
  for (const auto& [memory, bytes] : ordinary_) ordinary->push_back(memory);
}

void* SharedPool::Allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto rounded = RoundUp(bytes);
  try {
    if (limit_ == 0) return AllocateOrdinary(rounded);
    if (rounded > limit_ - used_) throw std::system_error(ENOSPC, std::generic_category());
    auto memory = SharedMemory::Create(static_cast<std::size_t>(rounded), &allowance_);
    char* first = memory.data();
    used_ += rounded;
    shared_.emplace(first, Owned{next_serial_++, std::move(memory)});
    return first;
  } catch (const std::system_error& error) {
    void* memory = AllocateOrdinary(rounded);
    WarnOnce(rounded, error.code().message().c_str());
    return memory;
  }
}

void SharedPool::Adopt(void* memory, std::int64_t bytes, int descriptor) {
  if (limit_ == 0) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, "there is no shared memory: SLIPWAY_SHARED_MEMORY_LIMIT is 0");
  }
  if (Find(memory, 1).serial != 0) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "this memory is shared already");
  auto* first = static_cast<char*>(memory);
  const std::lock_guard lock(mutex_);
  try {
    auto borrowed = SharedMemory::Borrow(first, static_cast<std::size_t>(bytes), descriptor);
    shared_.emplace(first, Owned{next_serial_++, std::move(borrowed)});
  } catch (const std::system_error& error) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the memory cannot be shared: {}", error.what()));
  }
}

void* SharedPool::AllocateOrdinary(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  allowance_.Foresee(Bytes{size}, kPoolBlock);
  std::unique_ptr<void, FreeOrdinary> memory(std::aligned_alloc(kPage, size));
  if (memory == nullptr) throw std::bad_alloc();
  ZeroInSteps(static_cast<char*>(memory.get()), size, allowance_);
  ordinary_.emplace(memory.get(), bytes);
  return memory.release();
}

void SharedPool::WarnOnce(std::int64_t bytes, const char* reason) {
  if (std::exchange(warned_, true)) return;
  std::fputs(
      fmt::format(
          "slipway: warning: no shared memory for {} bytes ({}; {} bytes are in use): ordinary memory is "
          "used, and exchanged with copies; give the job more memory or file descriptors (a block needs one), or raise "
          "SLIPWAY_SHARED_MEMORY_LIMIT if it is set\n",
          bytes, reason, used_)
          .c_str(),
      stderr);
}

void SharedPool::Free(void* memory) {
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (const auto found = ordinary_.find(memory); found != ordinary_.end()) {
    std::free(memory);
    ordinary_.erase(found);
    return;
  }
  const auto found = shared_.find(static_cast<const char*>(memory));
  if (found == shared_.end()) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "this is no memory of slipway_alloc, or it was freed already");
  }
  if (!found->second.memory.borrowed()) used_ -= static_cast<std::int64_t>(found->second.memory.size());
  shared_.erase(found);
}

char* SharedPool::FirstByte(std::int64_t serial) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [first, owned] : shared_) {
    if (owned.serial == serial) return owned.memory.data();
  }
  return nullptr;
}

SharedLocation SharedPool::Find(const void* data, std::uint64_t bytes) const {
  const auto* first = static_cast<const char*>(data);
  const std::lock_guard lock(mutex_);
  auto after = shared_.upper_bound(first);
  if (after == shared_.begin()) return {};
  const auto& [start, owned] = *--after;
  const auto offset = static_cast<std::uint64_t>(first - start);
  if (offset + bytes > owned.memory.size()) return {};
  return {owned.serial, offset};
}

std::vector<SharedPool::Block> SharedPool::Blocks() const {
  const std::lock_guard lock(mutex_);
  std::vector<Block> blocks;
  for (const auto& [start, owned] : shared_) blocks.push_back({owned.serial, owned.memory.address()});
  return blocks;
}

char* PeerMemory::Map(const SharedPool::Block& block) {
  const std::lock_guard lock(mutex_);
  const std::pair key(block.address.process, block.serial);
  if (const auto known = mapped_.find(key); known != mapped_.end()) return known->second.data();
  try {
    return mapped_.emplace(key, SharedMemory::Open(block.address)).first->second.data();
  } catch (const std::system_error&) {
    return nullptr;  // the ranks agree on it, and copy instead
  }
}

void PeerMemory::Keep(std::int64_t process, const std::vector<SharedPool::Block>& living) {
  if (living.empty()) return;
  std::vector<std::int64_t> serials;
  for (const auto& block : living) serials.push_back(block.serial);
  std::ranges::sort(serials);
  const std::lock_guard lock(mutex_);
  std::erase_if(mapped_, [&](const auto& entry) {
    const auto& [owner, serial] = entry.first;
    return owner == process && serial < serials.back() && !std::ranges::binary_search(serials, serial);
  });
}

}  // namespace slipway::runtime
