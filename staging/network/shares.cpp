#include "staging/network/shares.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "staging/network/frame.h"

namespace slipway::staging {
namespace {

std::uint64_t SizeOf(const Part& part) { return part.end - part.begin; }

void Cut(const Part& whole, std::uint64_t size, std::vector<Part>& parts) {
  for (auto begin = whole.begin; begin < whole.end; begin += size) {
    parts.push_back({whole.file, begin, std::min(whole.end, begin + size)});
  }
}

/// Whole files, or parts of those that are more than a quarter of a node's share.
std::vector<Part> PartsOf(const std::vector<SourceFile>& files, std::size_t readers) {
  std::uint64_t total = 0;
  for (const auto& file : files) total += file.size.count;
  const auto most = std::max<std::uint64_t>(kPartBytes, total / readers / 4);
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    const auto size = files[i].size.count;
    Cut({i, 0, size}, size > most ? kPartBytes : std::max<std::uint64_t>(size, 1), parts);
  }
  return parts;
}

/// Where each file stands in the order of first use.
std::vector<std::size_t> PlacesIn(const std::vector<std::size_t>& order, std::size_t files) {
  std::vector<std::size_t> places(files);
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  return places;
}

}  // namespace

std::vector<std::vector<Part>> SharesOf(const std::vector<SourceFile>& files, const std::vector<std::size_t>& order,
                                        std::size_t readers) {
  auto parts = PartsOf(files, readers);
  const auto places = PlacesIn(order, files.size());
  std::stable_sort(parts.begin(), parts.end(), [&](const Part& left, const Part& right) {
    return std::pair(SizeOf(right), places[left.file]) < std::pair(SizeOf(left), places[right.file]);
  });
  using Load = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t reader = 0; reader < readers; ++reader) loads.emplace(0, reader);
  std::vector<std::vector<Part>> shares(readers);
  for (const auto& part : parts) {
    const auto [bytes, reader] = loads.top();
    loads.pop();
    loads.emplace(bytes + SizeOf(part), reader);
    shares[reader].push_back(part);
  }
  for (auto& share : shares) {
    std::sort(share.begin(), share.end(), [&](const Part& left, const Part& right) {
      return std::pair(places[left.file], left.begin) < std::pair(places[right.file], right.begin);
    });
  }
  return shares;
}

std::vector<Part> ChunksOf(const std::vector<Part>& parts) {
  std::vector<Part> chunks;
  for (const auto& part : parts) Cut(part, kChunkBytes, chunks);
  return chunks;
}

}  // namespace slipway::staging
