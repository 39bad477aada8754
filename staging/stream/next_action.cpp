#include "staging/stream/next_action.h"

#include <algorithm>
#include <optional>

namespace slipway::staging {
namespace {

class Decision {
 public:
  Decision(const StreamView& view, Uses& uses) : view_(view), uses_(uses) {
    if (!view_.positions.empty()) slowest_ = std::ranges::min(view_.positions);
    for (std::size_t file = 0; file < view_.sizes.size(); ++file) {
      if (view_.present[file]) taken_ += view_.sizes[file].count;
    }
  }

  StreamAction Make() {
    const auto use = FirstMissing();
    if (!use) return WaitForReaders{};
    const auto file = uses_.FileOf(*use);
    const auto size = view_.sizes[file].count;
    if (taken_ + size <= view_.capacity.count) return CopyFile{file};
    if (*use > slowest_ + view_.ahead) return WaitForReaders{};
    const auto out = Dispensable(*use);
    std::uint64_t freed = 0;
    for (const auto candidate : out) freed += view_.sizes[candidate].count;
    if (taken_ - freed + size > view_.capacity.count) return WaitForReaders{};
    return EvictFile{out.front()};
  }

 private:
  /// Two epochs from any place hold every file.
  std::optional<std::uint64_t> FirstMissing() {
    for (auto use = slowest_; use < slowest_ + 2 * view_.sizes.size(); ++use) {
      if (!view_.present[uses_.FileOf(use)]) return use;
    }
    return {};
  }

  bool IsAtHand(std::size_t file) {
    return std::ranges::any_of(view_.positions, [&](std::uint64_t at) { return uses_.FileOf(at) == file; });
  }

  /// What may go in favour of `use`, the farthest next use first.
  std::vector<std::size_t> Dispensable(std::uint64_t use) {
    std::vector<std::pair<std::uint64_t, std::size_t>> found;
    for (std::size_t file = 0; file < view_.sizes.size(); ++file) {
      if (!view_.present[file] || IsAtHand(file)) continue;
      const auto next = uses_.NextUse(file, slowest_);
      if (next > use) found.emplace_back(next, file);
    }
    std::ranges::sort(found, std::greater());
    std::vector<std::size_t> files;
    for (const auto& [next, file] : found) files.push_back(file);
    return files;
  }

  const StreamView& view_;
  Uses& uses_;
  std::uint64_t slowest_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace

StreamAction NextAction(const StreamView& view, Uses& uses) { return Decision(view, uses).Make(); }

}  // namespace slipway::staging
