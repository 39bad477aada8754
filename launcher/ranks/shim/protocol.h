/// The protocol between the rank shim and its manager: lines of words over a stream socket.
///
/// ```
///   shim -> manager   hello RANK SIZE PID HOST    first line
///                     started PID ERRNO           the program runs, as leader of this process group; ERRNO is not 0
///                                                 when it could not be bound to its cores
///                     failed ERRNO                the program cannot be executed
///                     asked SIGNAL                it ends the program: the shim got this signal, or 0: it had the
///                                                 order, or its manager is gone
///                     exited CODE SIGNAL          the program has ended; the shim's last line
///   manager -> shim   set NAME VALUE              before `go`: a variable of this rank, or of its node's ranks, alone
///                     go [CORES]                  start the program, on these cores only: "0-3,8"
///                     signal NUMBER               send a signal to its group, and continue
///                     stop                        end it: SIGTERM to its group, after the grace time SIGKILL
/// ```
///
/// Processes that the program leaves running are ended with it, even outside its group. The rank's log names them.
/// After `stop` they get SIGTERM and have the grace time, too.
///
/// End of file at the shim means that the manager is gone. Before `go` the shim leaves; after it, it ends the program.
/// Both sides include this file; it needs nothing but the language.
#pragma once

namespace slipway::shim {

inline constexpr char kHello[] = "hello";
inline constexpr char kStarted[] = "started";
inline constexpr char kFailed[] = "failed";
inline constexpr char kAsked[] = "asked";
inline constexpr char kExited[] = "exited";
inline constexpr char kSet[] = "set";
inline constexpr char kGo[] = "go";
inline constexpr char kSignal[] = "signal";
inline constexpr char kStop[] = "stop";

/// In the path of the manager's socket: the name of the shim's node (SLURMD_NODENAME, else the host's). Nodes may share
/// a machine, or a folder for temporary files.
inline constexpr char kNodeInPath[] = "%n";
/// Variables of a rank with sockets of its node. The shim inserts the node's name.
inline constexpr const char* kSocketVariables[] = {"SLIPWAY_WATCH_SOCKET"};

/// The longest line of the manager. It holds a list of all cores of a large node and the names of its GPUs.
inline constexpr int kLongestOrder = 8192;

/// Exit status with which a program asks for another turn.
inline constexpr int kTryAgain = 75;

/// Exit status of a shim that left without running the program.
inline constexpr int kNotRun = 76;

/// The rank's log and the record of its end, in the attempt's folder. Arguments: folder, rank. The record holds "CODE
/// SIGNAL", or nothing when its writer was killed at that moment. It exists only when the program has ended by itself.
inline constexpr char kLogName[] = "%s/rank-%05d.log";
inline constexpr char kExitName[] = "%s/rank-%05d.exit";

}  // namespace slipway::shim
