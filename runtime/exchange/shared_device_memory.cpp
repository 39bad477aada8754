#include "runtime/exchange/shared_device_memory.h"

#include <cstring>

#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {

std::unique_ptr<SharedDeviceMemory> SharedDeviceMemory::Share(const DevicePlace& place, std::span<void* const> ranges,
                                                              Communicator& ranks) {
  std::unique_ptr<SharedDeviceMemory> shared(new SharedDeviceMemory(place));
  std::vector<Range> own;
  Parting([&] {
    for (const void* range : ranges) own.push_back(shared->Describe(range));
  });
  const auto of_all = ranks.Allgather(own.data(), own.size() * sizeof(Range));
  bool reached = false;
  Parting([&] { reached = shared->Reach(ranges, of_all, ranks.rank()); });
  return OnEveryRank(ranks, reached) ? std::move(shared) : nullptr;
}

SharedDeviceMemory::Range SharedDeviceMemory::Describe(const void* range) {
  if (range == nullptr) return {};
  Range described;
  described.empty = described.shared = false;
  const auto start = StartOfAllocation(*place_.driver, range);
  if (!start || place_.driver->direct() == nullptr) return described;
  auto known = own_.find(*start);
  if (known == own_.end()) {
    const InContext here(place_);
    IpcHandle handle;
    if (place_.driver->direct()->cuIpcGetMemHandle(&handle, *start) != 0) return described;
    known = own_.emplace(*start, handle).first;
  }
  return {known->second, AddressOf(range) - *start, false, true};
}

/// Whether all that the others have described can be mapped.
bool SharedDeviceMemory::Reach(std::span<void* const> own, std::span<const char> of_all, int rank) {
  const auto ranks = own.empty() ? 0 : of_all.size() / (own.size() * sizeof(Range));
  at_.assign(own.size(), std::vector<char*>(ranks));
  const InContext here(place_);
  for (std::size_t other = 0; other < ranks; ++other) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      Range range;
      std::memcpy(&range, of_all.data() + (other * own.size() + i) * sizeof range, sizeof range);
      if (!range.shared) return false;
      if (range.empty) continue;
      at_[i][other] =
          static_cast<int>(other) == rank ? static_cast<char*>(own[i]) : Map(static_cast<int>(other), range);
      if (at_[i][other] == nullptr) return false;
    }
  }
  return true;
}

char* SharedDeviceMemory::Map(int rank, const Range& range) {
  const std::pair key(rank, range.allocation);
  auto known = maps_.find(key);
  if (known == maps_.end()) {
    char* first = mapped_.Map(range.allocation);
    if (first == nullptr) return nullptr;
    known = maps_.emplace(key, first).first;
  }
  return known->second + range.offset;
}

}  // namespace slipway::runtime
