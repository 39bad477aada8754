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

/// Sends a signal to all descendants of the program that are not in its group.
void SignalStrays(const OrphansOf& orphans, int signal);

/// Whether any process that the program started still runs after its end, in its group or outside.
bool AnyIsLeft(const OrphansOf& orphans);

/// Sends SIGKILL to what is left after the program's end; the program may still be a zombie. Writes to the log
/// FOLDER/rank-RANK.log what that was, and what could not be ended. Cost: reads a file when nothing is left.
void EndStrays(const OrphansOf& orphans, const char* folder, int rank);

}  // namespace slipway::shim
