/// What the supervisor of programs and its manager say to each other over a stream socket.
///
/// The supervisor is one process that starts many programs, each as the leader of a process group of its own, watches
/// them, records how they ended, and ends them all when its manager is gone. A program is forked when it is prepared,
/// so that its number is known; it waits for `go` and has then run nothing of the program.
///
///   manager -> supervisor   frames: the number of bytes that follow (std::uint32_t of this machine), then strings,
///   each
///                           ended by a zero byte; the first two are the order and the program's ID, a number
///     prepare ID FOLDER GRACE_MS CORES DIRECTORY COUNT WORD... VARIABLE...
///                           FOLDER gets the log and the record of the end (launcher/shim/protocol.h); CORES: "0,1", or
///                           empty; DIRECTORY: to work in, or empty; COUNT words of the command; NAME=value of all
///                           variables
///     go ID                 the program starts
///     stop ID               end it: SIGTERM to its group, after the grace time SIGKILL
///     kill ID               SIGKILL to its group
///   supervisor -> manager   lines
///     prepared ID PID       it waits
///     failed ID ERRNO       it cannot be forked, or not be executed; its last line
///     exited ID CODE SIGNAL its last line
///
/// End of file at the supervisor means that the manager is gone: all programs are asked to end, and with the last of
/// them the supervisor ends. When the supervisor itself is killed, the kernel kills its programs.
#pragma once

#include <cstdint>

namespace slipway::supervisor {

using FrameLength = std::uint32_t;

inline constexpr char kPrepare[] = "prepare";
inline constexpr char kGo[] = "go";
inline constexpr char kStop[] = "stop";
inline constexpr char kKill[] = "kill";
inline constexpr char kPrepared[] = "prepared";
inline constexpr char kFailed[] = "failed";
inline constexpr char kExited[] = "exited";

/// The descriptor that the supervisor has its end of the socket in.
inline constexpr int kSocket = 3;

}  // namespace slipway::supervisor
