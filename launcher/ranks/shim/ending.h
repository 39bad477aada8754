/// How a program's process group is brought to its end: asked first, forced after a grace time.
#pragma once

#include <sys/types.h>
#include <time.h>

namespace slipway::shim {

/// Calling its functions again changes nothing.
class Ending {
 public:
  Ending(pid_t group, int grace_ms) : group_(group), grace_ms_(grace_ms) {}

  /// SIGTERM to the group.
  void Begin();
  bool begun() const { return begun_; }
  /// It was asked to end, and the grace time is not over.
  bool InGrace() const { return MillisecondsLeft() > 0; }
  /// Until SIGKILL is due, for poll(): -1 while there is nothing to wait for.
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

/// Third word of a record ("1 0 disk-full") when less than kLeastFreeBytes were left on its disk as the program ended:
/// the program may have failed for that.
inline constexpr char kDiskFull[] = "disk-full";
inline constexpr unsigned long long kLeastFreeBytes = 256 << 10;

/// What stays of a program that has ended by itself: for a manager that could not hear of it.
struct ProgramEnd {
  int code = 0;
  int signal = 0;

  static ProgramEnd FromWait(int wait_status);
};

/// Writes FOLDER/rank-RANK.exit, see protocol.h. Where it cannot be written the channel still carries the end.
void WriteExitRecord(const char* folder, int rank, ProgramEnd end);

/// The rank's log, for appending; -1 and errno when it cannot be opened.
int OpenRankLog(const char* folder, int rank);

}  // namespace slipway::shim
