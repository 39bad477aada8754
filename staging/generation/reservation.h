/// Space in a tier, reserved for a staging before its first byte: so two stagings never count on the same free space.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "staging/plan/plan.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {

/// The ledger: <root>/.locks/<generation>.need says what a staging needs in all ("bytes inodes\n"). It counts while a
/// process works on that generation, less what its private directory has taken already. It is read and written under
/// the lock <root>/.locks/.ledger. The next process that finds a file without a staging removes it.
class Reservation {
 public:
  static std::filesystem::path Ledger(const std::filesystem::path& root) { return root / ".locks" / ".ledger"; }

  /// Only while holding the stage lock of the plan's generation. When space lacks, leftovers of other generations are
  /// removed, however young. Nothing when the free space, less the reservations of others, is too small for the rest of
  /// `need`; `available` is then that space. `found` lies in the tier and will be taken over. While another process has
  /// the ledger, `on_wait` is called about twenty times a second, and may throw.
  static std::optional<Reservation> Take(
      const StagingPlan& plan, const SpaceNeed& need, FreeSpace& available,
      const std::function<void()>& on_wait = [] {}, Bytes found = {});
  Reservation(Reservation&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~Reservation();

 private:
  static std::optional<Reservation> TryTake(const StagingPlan& plan, const SpaceNeed& need, FreeSpace& available,
                                            const std::function<void()>& on_wait, Bytes found);
  explicit Reservation(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace slipway::staging
