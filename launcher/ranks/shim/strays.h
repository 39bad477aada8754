/// Ends processes that a program started outside its process group, in sessions of their own (setsid, daemons). The
/// group's signals do not reach them, and without this they outlive the program.
#pragma once

#include <sys/types.h>

namespace slipway::shim {

/// Whether this child has ended; it stays to be waited for.
bool IsZombie(pid_t pid);

/// From now on a descendant whose parent has ended becomes a child of this process.
void AdoptOrphans();

/// Selects the children of this process that belong to a program, beside the program itself.
struct OrphansOf {
  pid_t program;                                 ///< leads its group
  bool (*is)(pid_t child, const void* context);  ///< null: all children
  const void* context;
};

/// Sends one signal to all descendants of the program that are not in its group.
///
/// A process group gets it as a whole, and once. So a fork at that moment escapes it no more than the signal to the
/// program's own group, and what a handler starts in the group to save is left alone. Where a group has other members
/// too, only the descendants get it.
class StraySignal {
 public:
  explicit StraySignal(int signal) : signal_(signal) {}

  /// Finds whom to signal. To be called before the program's group gets its signal: a process whose parent ends while
  /// it is looked for can be missed.
  void Find(const OrphansOf& orphans);
  /// Signals those found, and those that Find missed.
  void Send(const OrphansOf& orphans);
  /// Signals those that were missed so far, but started before Find was done. Later ones may be at work for a handler,
  /// also in groups of their own (timeout, setsid). The time has the kernel's resolution for starts, mostly 10 ms: what
  /// started in the last interval counts as later. Returns whether there were any.
  bool SendToMissed(const OrphansOf& orphans);

 private:
  /// More are not signalled.
  static constexpr int kMostTargets = 1024;

  /// False when it was there already, or there are as many as can be kept.
  bool Add(pid_t target);
  template <class Wanted>
  bool AddFrom(const OrphansOf& orphans, Wanted wanted);
  void SendFrom(int first) const;

  int signal_;
  unsigned long long found_at_ = 0;  ///< in clock ticks since the boot
  int count_ = 0;
  pid_t targets_[kMostTargets] = {};  ///< as for kill(): groups are negative
};

/// Whether any process that the program started still runs after its end, in its group or outside.
bool AnyIsLeft(const OrphansOf& orphans);

/// Sends SIGKILL to what is left after the program's end; the program may still be a zombie. Writes to the log
/// FOLDER/rank-RANK.log what that was, and what could not be ended. Cost: reads a file when nothing is left.
void EndStrays(const OrphansOf& orphans, const char* folder, int rank);

}  // namespace slipway::shim
