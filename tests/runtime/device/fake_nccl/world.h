#pragma once

/// What the ranks of one fake NCCL communicator share: a file of /dev/shm.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace slipway::fake_nccl {

class World {
 public:
  static constexpr int kMostRanks = 16;
  static constexpr std::size_t kSlotBytes = std::size_t{64} << 20;

  /// `name`: of the file. Any rank makes it.
  World(const std::string& name, int ranks, int rank);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }
  bool complete() const;
  /// One rank could not connect: the others learn of it.
  void Fail() { head_->failed = 1; }
  bool failed() const { return head_->failed != 0; }

  /// What a rank gives to the others.
  char* Slot(int rank) const;
  /// Returns when all ranks have come as far, or `stop` holds: then false.
  bool Meet(std::uint64_t phase, const std::atomic<bool>& stop);

 private:
  struct Head {
    std::atomic<int> attached{0};
    std::atomic<int> failed{0};
    std::atomic<std::uint64_t> phases[kMostRanks];
  };
  std::size_t bytes() const;

  std::string name_;
  int ranks_;
  int rank_;
  Head* head_ = nullptr;
};

}  // namespace slipway::fake_nccl
