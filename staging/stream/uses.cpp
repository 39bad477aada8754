#include "staging/stream/uses.h"

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

}  // namespace slipway::staging
