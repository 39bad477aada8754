#include "tests/runtime/device/fake_driver/host_watch.h"

#include <cstring>

namespace slipway::fake_gpu {
namespace {

unsigned char* Bytes(Range range) { return reinterpret_cast<unsigned char*>(range.begin); }

std::uint64_t Hash(Range range) {
  const auto* bytes = Bytes(range);
  std::uint64_t hash = 14695981039346656037u;
  std::size_t at = 0;
  for (; at + sizeof hash <= range.bytes(); at += sizeof hash) {
    std::uint64_t word;
    std::memcpy(&word, bytes + at, sizeof word);
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 29;
  }
  for (; at < range.bytes(); ++at) hash = (hash ^ bytes[at]) * 1099511628211u;
  return hash;
}

/// Whether queued work before the operation may still touch its host buffer. A host function may touch anything.
bool Disturbed(const Operation& operation, const Access& access, const Operations& pending) {
  return std::any_of(pending.begin(), pending.end(), [&](const OperationPtr& earlier) {
    if (earlier.get() == &operation || !operation.clock.Covers(earlier->place)) return false;
    if (earlier->engine == Engine::kHostFunction) return true;
    return std::any_of(earlier->accesses.begin(), earlier->accesses.end(),
                       [&](const Access& other) { return other.Conflicts(access); });
  });
}

const Access* HostAccess(const Operation& operation, fake_gpu_access how) {
  for (const auto& access : operation.accesses) {
    if (access.on_host && access.how == how) return &access;
  }
  return nullptr;
}

void Poison(Operation& operation, const Operations& pending) {
  const auto* target = HostAccess(operation, FAKE_GPU_WRITE);
  if (target == nullptr || operation.poisoned || operation.state != Operation::State::kQueued) return;
  if (Disturbed(operation, *target, pending)) return;
  std::memset(Bytes(target->range), kFakeGpuPoison, target->range.bytes());
  operation.poisoned = true;
}

}  // namespace

void HostWatch::Queue(Operation& operation, const Operations& pending) {
  const auto* source = HostAccess(operation, FAKE_GPU_READ);
  if (source != nullptr && !Disturbed(operation, *source, pending)) operation.source_hash = Hash(source->range);
  Poison(operation, pending);
}

void HostWatch::Review(const Operations& pending) {
  for (const auto& operation : pending) Poison(*operation, pending);
}

void HostWatch::Check(const Operation& operation) {
  const auto* source = HostAccess(operation, FAKE_GPU_READ);
  if (operation.source_hash && Hash(source->range) != *operation.source_hash) {
    ledger_.Report(FAKE_GPU_HOST_RACE, "the source of " + operation.name + " changed before the copy had run");
  }
  if (!operation.poisoned) return;
  const auto range = HostAccess(operation, FAKE_GPU_WRITE)->range;
  const auto* end = Bytes(range) + range.bytes();
  if (std::any_of(static_cast<const unsigned char*>(Bytes(range)), end,
                  [](auto byte) { return byte != kFakeGpuPoison; })) {
    ledger_.Report(FAKE_GPU_HOST_RACE, "the destination of " + operation.name + " was written before the copy had run");
  }
}

}  // namespace slipway::fake_gpu
