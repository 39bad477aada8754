/// The protocol between the supervisor of programs and its manager, over a stream socket.
///
/// The supervisor is one process that starts many programs, each as the leader of its own process group. It watches
/// them and records how they ended. When its manager is gone, it ends them all. Before its `start` no process of a
/// program exists.
///
/// ```
///   manager -> supervisor   frames: the number of bytes that follow (std::uint32_t of this machine), then strings,
///                           each ended by a zero byte; the first two are the order and the program's ID, a number
///     start ID FOLDER GRACE_MS CORES DIRECTORY COUNT WORD... VARIABLE...
///                           FOLDER gets the log and the record of the end (launcher/ranks/shim/protocol.h);
///                           CORES: "0,1", or empty; DIRECTORY: to work in, or empty;
///                           COUNT words of the command; NAME=value of all variables
///     signal ID NUMBER      send a signal to its group, and continue
///     stop ID               end it: SIGTERM to its group, after the grace time SIGKILL
///     kill ID               SIGKILL to its group
///   supervisor -> manager   lines
///     started ID PID        the program runs; sent with the next line, or within a moment
///     failed ID ERRNO       it cannot be started; its only line
///     exited ID CODE SIGNAL its last line
/// ```
///
/// Processes that a program leaves running are ended with it, even outside its group. The log names them. After `stop`
/// they get SIGTERM and have the rest of the grace time, too. The last program takes with it what belongs to none.
///
/// End of file at the supervisor means that the manager is gone. All programs are asked to end, and the supervisor ends
/// after the last of them. When the supervisor itself is killed, the kernel kills its programs.
#pragma once

#include <cstdint>

namespace slipway::supervisor {

using FrameLength = std::uint32_t;

inline constexpr char kStart[] = "start";
inline constexpr char kSignal[] = "signal";
inline constexpr char kStop[] = "stop";
inline constexpr char kKill[] = "kill";
inline constexpr char kStarted[] = "started";
inline constexpr char kFailed[] = "failed";
inline constexpr char kExited[] = "exited";

/// Begins the variable that each process of a program inherits, SLIPWAY_SUPERVISED=PID-ID: of its supervisor, and of
/// the program. It tells which program a process belongs to.
inline constexpr char kTagName[] = "SLIPWAY_SUPERVISED=";

/// The descriptor of the supervisor's end of the socket.
inline constexpr int kSocket = 3;

}  // namespace slipway::supervisor
