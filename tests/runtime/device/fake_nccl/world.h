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

  /// Of a rank that cannot connect. The others learn of it, or wait for it until they abort.
  enum class Failure : int { kNone, kTold, kSilent };

  /// `name`: of the file. Any rank makes it. `failure`: of this rank.
  World(const std::string& name, int ranks, int rank, Failure failure);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }
  bool complete() const;
  Failure failure() const { return head_->failure; }

  /// What a rank gives to the others.
  char* Slot(int rank) const;
  /// Returns when all ranks have come as far, or `stop` holds: then false.
  bool Meet(std::uint64_t phase, const std::atomic<bool>& stop);

 private:
  struct Head {
    std::atomic<int> attached{0};
    std::atomic<Failure> failure{Failure::kNone};
    std::atomic<std::uint64_t> phases[kMostRanks];
  };
  std::size_t bytes() const;

  std::string name_;
  int ranks_;
  int rank_;
  Head* head_ = nullptr;
};

}  // namespace slipway::fake_nccl
