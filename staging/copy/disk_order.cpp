#include "staging/copy/disk_order.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <numeric>

#include "core/share_out.h"
#include "core/unique_handle.h"

namespace slipway::staging {
namespace {

constexpr std::size_t kPairs = 20;             // of neighbours in the plan that are looked at
constexpr std::size_t kWorthIt = 32 * kPairs;  // with fewer files the look costs more than it can gain

/// A file that cannot be opened is the copier's to name.
UniqueFd OpenToLook(const SourceFile& file) {
  return UniqueFd(::open(file.path.native().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

/// Whether a read would wait for the disk.
bool IsOnDiskOnly(int fd) {
  char byte = 0;
  const iovec buffer{&byte, 1};
  return ::preadv2(fd, &buffer, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN;
}

std::optional<std::uint64_t> PlaceOf(int fd) {
  alignas(fiemap) std::byte memory[sizeof(fiemap) + sizeof(fiemap_extent)] = {};
  auto* map = reinterpret_cast<fiemap*>(memory);
  map->fm_length = FIEMAP_MAX_OFFSET;
  map->fm_extent_count = 1;
  if (::ioctl(fd, FS_IOC_FIEMAP, map) != 0 || map->fm_mapped_extents == 0) return {};
  constexpr auto kNowhere = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DATA_INLINE;
  const auto& extent = map->fm_extents[0];
  return (extent.fe_flags & kNowhere) == 0 ? std::optional<std::uint64_t>(extent.fe_physical) : std::nullopt;
}

std::vector<std::size_t> OrderOfPlan(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// What is found out about pairs of neighbours in the plan.
struct Sample {
  std::size_t on_disk_only = 0;
  std::size_t placed = 0;
  std::size_t together = 0;

  void Look(const SourceFile& file, const SourceFile& next) {
    const auto first = OpenToLook(file);
    const auto second = OpenToLook(next);
    if (!first || !second || !IsOnDiskOnly(second.get())) return;
    ++on_disk_only;
    const auto place = PlaceOf(first.get());
    const auto place_of_next = PlaceOf(second.get());
    if (!place || !place_of_next) return;
    ++placed;
    if (LiesBehind(*place, file.size, *place_of_next)) ++together;
  }
  bool OrderMatters() const { return 2 * on_disk_only > kPairs && 2 * placed > on_disk_only && 2 * together < placed; }
};

Sample LookAtSome(const std::vector<SourceFile>& files) {
  Sample sample;
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    const auto first = pair * (files.size() - 1) / kPairs;
    sample.Look(files[first], files[first + 1]);
  }
  return sample;
}

std::vector<std::optional<std::uint64_t>> PlacesOf(const std::vector<SourceFile>& files) {
  constexpr std::size_t kAtOnce = 32;
  std::vector<std::optional<std::uint64_t>> places(files.size());
  std::atomic<bool> stopped{false};
  ShareOut(files.size(), kAtOnce, stopped, [&]() -> Worker {
    return [&](std::size_t i) {
      if (const auto fd = OpenToLook(files[i])) places[i] = PlaceOf(fd.get());
    };
  });
  return places;
}

}  // namespace

bool LiesBehind(std::uint64_t place, Bytes size, std::uint64_t next) {
  constexpr std::uint64_t kNear = 1 << 20;
  const auto end = place + size.count;
  return next >= end && next - end < kNear;
}

std::vector<std::size_t> OrderOfPlaces(DiskPlaces places) {
  auto order = OrderOfPlan(places.size());
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return places[i]; });
  return order;
}

std::vector<std::size_t> DiskOrder(const std::vector<SourceFile>& files) {
  const bool matters = files.size() >= kWorthIt && LookAtSome(files).OrderMatters();
  return matters ? OrderOfPlaces(PlacesOf(files)) : OrderOfPlan(files.size());
}

}  // namespace slipway::staging
