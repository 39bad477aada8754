#include "staging/plan/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

namespace slipway::staging {
namespace {

/// "5 files", "4 to 5 files".
std::string Range(std::uint64_t low, std::uint64_t high, std::string_view what) {
  if (low == high) return fmt::format("{} {}", low, what);
  return fmt::format("{} to {} {}", low, high, what);
}

std::string RangeOfBytes(Bytes low, Bytes high) {
  if (low == high) return FormatBytes(low);
  return fmt::format("{} to {}", FormatBytes(low), FormatBytes(high));
}

}  // namespace

std::vector<int> AssignFiles(const std::vector<SourceFile>& files, int nodes) {
  std::vector<std::size_t> by_size(files.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return files[a].size > files[b].size; });
  // Bytes, then files (so that empty ones are spread too), then the node's number.
  using Load = std::tuple<std::uint64_t, std::size_t, int>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int node = 0; node < nodes; ++node) loads.emplace(0, 0, node);
  std::vector<int> owners(files.size());
  for (const auto index : by_size) {
    const auto [bytes, count, node] = loads.top();
    loads.pop();
    owners[index] = node;
    loads.emplace(bytes + files[index].size.count, count + 1, node);
  }
  return owners;
}

std::vector<SourceFile> FilesOfNode(const std::vector<SourceFile>& files, const std::vector<int>& owners, int node) {
  std::vector<SourceFile> share;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (owners[i] == node) share.push_back(files[i]);
  }
  return share;
}

std::vector<NodeContent> SumShares(const std::vector<SourceFile>& files, const std::vector<int>& owners, int nodes) {
  std::vector<NodeContent> shares(static_cast<std::size_t>(nodes), NodeContent{{}, 0, 0});
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto& share = shares[static_cast<std::size_t>(owners[i])];
    share.bytes.count += files[i].size.count;
    share.files += 1;
    if (share.records && files[i].records) {
      *share.records += *files[i].records;
    } else {
      share.records.reset();
    }
  }
  return shares;
}

std::string DescribeShares(const std::vector<NodeContent>& shares) {
  const auto [fewest_bytes, most_bytes] =
      std::minmax_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const auto [fewest, most] =
      std::minmax_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.files < b.files; });
  auto text = fmt::format("{} ({}", RangeOfBytes(fewest_bytes->bytes, most_bytes->bytes),
                          Range(fewest->files, most->files, "files"));
  const bool counted =
      std::all_of(shares.begin(), shares.end(), [](const NodeContent& share) { return share.records.has_value(); });
  if (counted) {
    const auto [least, largest] = std::minmax_element(
        shares.begin(), shares.end(), [](const auto& a, const auto& b) { return *a.records < *b.records; });
    text += ", " + Range(*least->records, *largest->records, "records");
  }
  return text + fmt::format(") on each of {} nodes", shares.size());
}

}  // namespace slipway::staging
