/// Ends a program's process group: SIGTERM first, SIGKILL after a grace time.
#pragma once

#include <sys/types.h>
#include <time.h>

namespace slipway::shim {

/// Repeated calls of its functions change nothing.
class Ending {
 public:
  Ending(pid_t group, int grace_ms) : group_(group), grace_ms_(grace_ms) {}

  /// SIGTERM to the group.
  void Begin();
  bool begun() const { return begun_; }
  /// SIGTERM was sent, and the grace time is not over.
  bool InGrace() const { return MillisecondsLeft() > 0; }
  /// The time until SIGKILL is due, for poll(): -1 while it is not scheduled.
  int MillisecondsLeft() const;
  void KillIfDue();
  /// SIGKILL to the group, now.
  void Kill();

 private:
  pid_t group_;
  int grace_ms_;
  bool begun_ = false;
  bool killed_ = false;
  timespec since_{};
};

/// Third word of a record ("1 0 disk-full"): less than kLeastFreeBytes were free on its disk when the program ended.
/// The program may have failed for that reason.
inline constexpr char kDiskFull[] = "disk-full";
inline constexpr unsigned long long kLeastFreeBytes = 256 << 10;

/// The record of a program that ended by itself, for a manager that was not connected.
struct ProgramEnd {
  int code = 0;
  int signal = 0;

  static ProgramEnd FromWait(int wait_status);
};

/// Writes FOLDER/rank-RANK.exit, see protocol.h. If that fails, the channel still reports the end.
void WriteExitRecord(const char* folder, int rank, ProgramEnd end);

/// Opens the rank's log for appending; -1 and errno when that fails.
int OpenRankLog(const char* folder, int rank);

}  // namespace slipway::shim
