/// What the supervisor of programs and its manager say to each other over a stream socket.
///
/// The supervisor is one process that starts many programs, each as the leader of a process group of its own, watches
/// them, records how they ended, and ends them all when its manager is gone. Nothing of a program is there before its
/// `start`.
///
///   manager -> supervisor   frames: the number of bytes that follow (std::uint32_t of this machine), then strings,
///                           each ended by a zero byte; the first two are the order and the program's ID, a number
///     start ID FOLDER GRACE_MS CORES DIRECTORY COUNT WORD... VARIABLE...
///                           FOLDER gets the log and the record of the end (launcher/ranks/shim/protocol.h); CORES:
///                           "0,1", or empty; DIRECTORY: to work in, or empty; COUNT words of the command; NAME=value
///                           of all variables
///     signal ID NUMBER      pass a signal on to its group, and go on
///     stop ID               end it: SIGTERM to its group, after the grace time SIGKILL
///     kill ID               SIGKILL to its group
///   supervisor -> manager   lines
///     started ID PID        the program runs; said together with the next line, or within a moment
///     failed ID ERRNO       it cannot be started; its only line
///     exited ID CODE SIGNAL its last line
///
/// What a program leaves running when it ends is ended with it, also outside its group; the log says what that was.
/// After `stop` that has the rest of the grace time, too.
///
/// End of file at the supervisor means that the manager is gone: all programs are asked to end, and with the last of
/// them the supervisor ends. When the supervisor itself is killed, the kernel kills its programs.
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

/// The descriptor that the supervisor has its end of the socket in.
inline constexpr int kSocket = 3;

}  // namespace slipway::supervisor
