#include "tests/runtime/device/fake_driver/access_log.h"

#include <algorithm>

namespace slipway::fake_gpu {
namespace {

bool Ordered(const Operation& one, const Operation& other) {
  return one.clock.Covers(other.place) || other.clock.Covers(one.place);
}

}  // namespace

void AccessLog::Add(const OperationPtr& operation) {
  for (const auto& access : operation->accesses) Add(operation, access);
}

void AccessLog::Add(const OperationPtr& operation, const Access& access) {
  for (const auto& entry : entries_) {
    if (!entry.access.Conflicts(access) || Ordered(*entry.operation, *operation)) continue;
    ledger_.Report(FAKE_GPU_RACE,
                   entry.operation->name + " and " + operation->name + " touch the same memory in no order");
  }
  entries_.push_back({operation, access});
}

OperationPtr AccessLog::InTheWayOfHost(const Access& access, const Clock& known) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.access.Conflicts(access) && !known.Covers(entry.operation->place);
  });
  return found == entries_.end() ? nullptr : found->operation;
}

void AccessLog::Prune(const Clock& known, const Operations& pending) {
  std::erase_if(entries_, [&](const Entry& entry) {
    const auto place = entry.operation->place;
    return known.Covers(place) && std::all_of(pending.begin(), pending.end(), [place](const auto& operation) {
             return operation->clock.Covers(place);
           });
  });
}

}  // namespace slipway::fake_gpu
