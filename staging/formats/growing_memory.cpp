#include "staging/formats/growing_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace slipway::staging {
namespace {

constexpr std::size_t kFirstCapacity = 1 << 20;

std::byte* Resize(std::byte* begin, std::size_t before, std::size_t after) {
  void* memory = begin == nullptr ? ::mmap(nullptr, after, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                  : ::mremap(begin, before, after, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

}  // namespace

GrowingMemory::GrowingMemory(GrowingMemory&& other) noexcept
    : sources_(other.sources_),
      begin_(std::exchange(other.begin_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

GrowingMemory& GrowingMemory::operator=(GrowingMemory&& other) noexcept {
  if (this != &other) {
    Release();
    sources_ = other.sources_;
    begin_ = std::exchange(other.begin_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

GrowingMemory::~GrowingMemory() { Release(); }

void GrowingMemory::Append(std::span<const std::byte> more) {
  if (more.empty()) return;
  if (more.size() > capacity_ - size_) {
    const auto capacity = std::max({kFirstCapacity, capacity_ + capacity_ / 2, size_ + more.size()});
    RequireMemory(Bytes{capacity - capacity_}, "the decompressed content of a file",
                  sources_ != nullptr ? *sources_ : MemorySources());
    begin_ = Resize(begin_, capacity_, capacity);
    capacity_ = capacity;
  }
  std::memcpy(begin_ + size_, more.data(), more.size());
  size_ += more.size();
}

void GrowingMemory::Release() noexcept {
  if (begin_ != nullptr) ::munmap(begin_, capacity_);
}

}  // namespace slipway::staging
