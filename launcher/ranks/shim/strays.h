/// What a program has started outside its process group, in sessions of its own (setsid, daemons): the signals of its
/// group do not reach it, and without care it outlives the program.
#pragma once

#include <sys/types.h>

namespace slipway::shim {

/// From now on a descendant whose parent has ended becomes a child of this process, and shows as one.
void AdoptOrphans();

/// Which children of this process belong to a program, beside the program itself.
struct OrphansOf {
  pid_t program;                                 ///< leads its group
  bool (*is)(pid_t child, const void* context);  ///< null: all children
  const void* context;
};

/// A signal to all that descends from the program and is not in its group.
void SignalStrays(const OrphansOf& orphans, int signal);

/// Whether anything that the program has started still runs, in its group or outside, when it has ended itself.
bool AnyIsLeft(const OrphansOf& orphans);

/// Ends what is left when the program itself has ended (it may be a zombie still), by SIGKILL, and says in the log
/// FOLDER/rank-RANK.log what that was, and what could not be ended. Cost: reads a file when nothing is left.
void EndStrays(const OrphansOf& orphans, const char* folder, int rank);

}  // namespace slipway::shim
