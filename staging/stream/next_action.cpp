#include "staging/stream/next_action.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace slipway::staging {

std::size_t Uses::FileOf(std::uint64_t use) { return Get(use / files_).file_at[use % files_]; }

std::uint64_t Uses::NextUse(std::size_t file, std::uint64_t use) {
  const auto epoch = use / files_;
  const auto place = Get(epoch).place_of[file];
  if (place >= use % files_) return epoch * files_ + place;
  return (epoch + 1) * files_ + Get(epoch + 1).place_of[file];
}

const Uses::Epoch& Uses::Get(std::uint64_t epoch) {
  constexpr std::size_t kKept = 8;  // readers are an epoch apart at most, but for one that begins again
  const auto found = known_.find(epoch);
  if (found != known_.end()) return found->second;
  if (known_.size() >= kKept) known_.erase(known_.begin());
  auto& fresh = known_[epoch];
  fresh.file_at = order_(epoch);
  fresh.place_of.resize(files_);
  for (std::size_t place = 0; place < files_; ++place) fresh.place_of[fresh.file_at[place]] = place;
  return fresh;
}

namespace {

class Decision {
 public:
  Decision(const StreamView& view, Uses& uses) : view_(view), uses_(uses) {
    if (!view_.readers.empty()) slowest_ = std::ranges::min_element(view_.readers, {}, &StreamReader::at)->at;
    for (std::size_t file = 0; file < view_.sizes.size(); ++file) {
      if (view_.present[file]) taken_ += view_.sizes[file].count;
    }
  }

  StreamAction Make() {
    if (view_.stalled) {
      if (const auto use = FirstWaitedFor()) return Bring(*use, [&](std::size_t file) { return !IsWorkedWith(file); });
    }
    const auto use = FirstMissing();
    if (!use) return WaitForReaders{};
    const bool is_near = *use <= slowest_ + view_.ahead;
    return Bring(*use, [&](std::size_t file) {
      return is_near && !IsWorkedWith(file) && !IsAtHand(file) && uses_.NextUse(file, slowest_) > *use;
    });
  }

 private:
  /// Copies the file of `use`, or takes away what is used last of the files that `may_go`.
  template <class MayGo>
  StreamAction Bring(std::uint64_t use, const MayGo& may_go) {
    const auto file = uses_.FileOf(use);
    const auto size = view_.sizes[file].count;
    if (taken_ + size <= view_.capacity.count) return CopyFile{file};
    std::uint64_t freed = 0;
    std::optional<std::pair<std::uint64_t, std::size_t>> last;
    for (std::size_t other = 0; other < view_.sizes.size(); ++other) {
      if (!view_.present[other] || !may_go(other)) continue;
      freed += view_.sizes[other].count;
      last = std::max(last, std::optional(std::pair(uses_.NextUse(other, slowest_), other)));
    }
    if (taken_ - freed + size > view_.capacity.count) return WaitForReaders{};
    return EvictFile{last->second};
  }

  /// Two epochs from any place hold every file.
  std::optional<std::uint64_t> FirstMissing() {
    for (auto use = slowest_; use < slowest_ + 2 * view_.sizes.size(); ++use) {
      if (!view_.present[uses_.FileOf(use)]) return use;
    }
    return {};
  }

  std::optional<std::uint64_t> FirstWaitedFor() {
    std::optional<std::uint64_t> first;
    for (const auto& reader : view_.readers) {
      if (!reader.wants || view_.present[uses_.FileOf(*reader.wants)]) continue;
      first = std::min(first.value_or(*reader.wants), *reader.wants);
    }
    return first;
  }

  bool IsAtHand(std::size_t file) {
    return std::ranges::any_of(view_.readers, [&](const auto& reader) { return uses_.FileOf(reader.at) == file; });
  }
  bool IsWorkedWith(std::size_t file) {
    return std::ranges::any_of(view_.readers,
                               [&](const auto& reader) { return reader.wants && uses_.FileOf(*reader.wants) == file; });
  }

  const StreamView& view_;
  Uses& uses_;
  std::uint64_t slowest_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace

StreamAction NextAction(const StreamView& view, Uses& uses) { return Decision(view, uses).Make(); }

}  // namespace slipway::staging
