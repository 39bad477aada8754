#include "runtime/exchange/shared_events.h"

#include <cstring>
#include <map>
#include <mutex>

#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

constexpr int kIpcEventSupported = 125;  // CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED

/// Events that no team uses, by context.
class KeptEvents {
 public:
  /// Of the process: its end is theirs.
  static KeptEvents& The() {
    static auto& kept = *new KeptEvents;
    return kept;
  }
  DeviceEvent Take(const DevicePlace& place) {
    const std::lock_guard lock(mutex_);
    auto& free = free_[place.context];
    if (free.empty()) return DeviceEvent(place, EventUse::kNode);
    auto event = std::move(free.back());
    free.pop_back();
    return event;
  }
  void Keep(const DevicePlace& place, DeviceEvent event) {
    const std::lock_guard lock(mutex_);
    free_[place.context].push_back(std::move(event));
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::vector<DeviceEvent>> free_;
};

/// Drivers before CUDA 12.0 do not know the question.
bool SupportsSharedEvents(const DevicePlace& place) {
  const auto* events = place.driver->shared_events();
  if (events == nullptr) return false;
  int supported = 1;
  return events->cuDeviceGetAttribute(&supported, kIpcEventSupported, place.ordinal) != 0 || supported != 0;
}

}  // namespace

std::unique_ptr<SharedEvents> SharedEvents::Share(const DevicePlace& place, std::size_t count, Communicator& ranks) {
  std::unique_ptr<SharedEvents> shared(new SharedEvents(place, static_cast<std::size_t>(ranks.rank())));
  const auto handles = shared->TakeOwn(count);
  if (!OnEveryRank(ranks, handles.size() == count)) return nullptr;
  const auto of_all = ranks.Allgather(handles.data(), count * sizeof(IpcHandle));
  return OnEveryRank(ranks, shared->Open(of_all, count)) ? std::move(shared) : nullptr;
}

/// Fewer than asked for where the driver cannot.
std::vector<IpcHandle> SharedEvents::TakeOwn(std::size_t count) {
  std::vector<IpcHandle> handles;
  if (!SupportsSharedEvents(place_)) return handles;
  try {
    while (handles.size() < count) {
      own_.push_back(KeptEvents::The().Take(place_));
      handles.push_back(own_.back().Handle());
    }
  } catch (const DeviceError&) {
    handles.clear();
  }
  return handles;
}

/// Whether all can be opened.
bool SharedEvents::Open(const std::vector<char>& of_all, std::size_t count) try {
  const auto ranks = of_all.size() / (count * sizeof(IpcHandle));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank == rank_) continue;
    auto& events = others_.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      IpcHandle handle;
      std::memcpy(&handle, of_all.data() + (rank * count + i) * sizeof handle, sizeof handle);
      events.emplace_back(place_, handle);
    }
  }
  return true;
} catch (const DeviceError&) {
  return false;
}

SharedEvents::~SharedEvents() {
  others_.clear();
  for (auto& event : own_) KeptEvents::The().Keep(place_, std::move(event));
}

const DeviceEvent& SharedEvents::Of(std::size_t rank, std::size_t event) const {
  if (rank == rank_) return own_[event];
  return others_[rank < rank_ ? rank : rank - 1][event];
}

void SharedEvents::HoldBack(std::size_t event, StreamHandle stream) const {
  for (std::size_t rank = 0; rank < ranks(); ++rank) Of(rank, event).HoldBack(stream);
}

}  // namespace slipway::runtime
