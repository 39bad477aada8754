/// A time limit for MPI_Init, which returns only when all ranks have called it. A thread watches the clock meanwhile.
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

/// Exists while MPI_Init runs. It shows this rank to the monitor of the node, if there is one. After `patience` it asks
/// the monitor which ranks are missing. With the answer, or without one in time, the process ends with a message:
/// MPI_Init cannot be left otherwise.
class StartAlarm {
 public:
  struct Settings {
    std::chrono::duration<double> patience{300};
    int rank = -1;  ///< below 0: not known, so the monitor is not asked
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
  /// What an observer of all nodes has found; empty: nothing yet.
  std::string Answer() const;
  [[noreturn]] void End(const std::string& message) const;

  Settings settings_;
  SharedMemory page_;
  RankStatusRow* row_ = nullptr;  ///< null: no monitor to ask
  std::mutex mutex_;
  std::condition_variable over_;
  bool begun_ = false;
  std::thread thread_;
};

}  // namespace slipway::runtime
