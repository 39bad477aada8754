/// In which order the files of a dataset are used, over all epochs: use number = epoch * files + place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace slipway::staging {

/// The order of one epoch: each file once.
using OrderOfEpoch = std::function<std::vector<std::size_t>(std::uint64_t epoch)>;

/// Keeps the orders of the epochs it was asked about last. Not for several threads.
class Uses {
 public:
  Uses(std::size_t files, OrderOfEpoch order) : files_(files), order_(std::move(order)) {}

  std::size_t files() const { return files_; }
  std::size_t FileOf(std::uint64_t use);
  /// The first use of `file` that is not before `use`.
  std::uint64_t NextUse(std::size_t file, std::uint64_t use);

 private:
  struct Epoch {
    std::vector<std::size_t> file_at;
    std::vector<std::uint64_t> place_of;
  };
  const Epoch& Get(std::uint64_t epoch);

  std::size_t files_;
  OrderOfEpoch order_;
  std::map<std::uint64_t, Epoch> known_;
};

}  // namespace slipway::staging
