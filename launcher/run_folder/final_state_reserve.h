/// Reserved disk space for the final state of a run, in case the file system of its folder becomes full.
#pragma once

#include <filesystem>

namespace slipway::launcher {

/// A file of some blocks that is removed when the space is needed. There is none if the disk was full from the start or
/// is read-only.
class FinalStateReserve {
 public:
  explicit FinalStateReserve(const std::filesystem::path& folder);
  FinalStateReserve(const FinalStateReserve&) = delete;
  FinalStateReserve& operator=(const FinalStateReserve&) = delete;
  ~FinalStateReserve() { GiveUp(); }

  void GiveUp() noexcept;

 private:
  std::filesystem::path file_;
};

}  // namespace slipway::launcher
