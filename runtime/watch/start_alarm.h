/// MPI_Init comes back when all ranks have come to it, or never, and in it nobody looks at a clock. A thread does that.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/memory/shared_memory.h"
#include "runtime/watch/rank_status_table.h"

namespace slipway::runtime {

/// While it lives MPI begins. The monitor of the node, if there is one, sees that this rank is there, and after
/// `patience` is asked who is not. When the answer is there, or has not come in time, the process ends with a message:
/// there is no way out of MPI_Init.
class StartAlarm {
 public:
  struct Settings {
    std::chrono::duration<double> patience{300};
    int rank = -1;  ///< below 0: not known, so nobody is asked
    std::filesystem::path monitor;
    std::filesystem::path report;  ///< watch.json of the attempt; empty: none
  };

  explicit StartAlarm(Settings settings);
  StartAlarm(const StartAlarm&) = delete;
  StartAlarm& operator=(const StartAlarm&) = delete;
  ~StartAlarm();

 private:
  void Announce() noexcept;
  void Count();
  void Ask(std::chrono::duration<double> waited);
  /// What somebody who sees all nodes has found; empty: nothing yet.
  std::string Answer() const;
  [[noreturn]] void End(const std::string& message) const;

  Settings settings_;
  SharedMemory page_;
  RankStatusRow* line_ = nullptr;  ///< null: nobody can be asked
  std::mutex mutex_;
  std::condition_variable over_;
  bool begun_ = false;
  std::thread thread_;
};

}  // namespace slipway::runtime
