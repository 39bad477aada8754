/// Room for a manager's last word in a run folder whose file system has become full meanwhile.
#pragma once

#include <filesystem>

namespace slipway::launcher {

/// A file of some blocks that is given up when the room is needed. A disk that is full from the start, or that nobody
/// may write to, has none.
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
