/// What the manager of a job and the agents of its nodes say to each other.
///
/// An agent is one process a node, `slipway-agent`. It connects to the manager, both prove that they hold the job's key
/// (staging/network/handshake.h), and from then on everything travels in frames over that one connection:
///
///   agent -> manager    join       first: NODE_NAME, whether the job has its cores there for itself ("own", "shared"),
///                                  the cores ("0,1,2"), and its GPUs ("CUDA_VISIBLE_DEVICES=0,1")
///                       arrived    a program has connected to the listener NAME; it is the other end of this stream
///   manager -> agent    open       a socket NAME, to which programs of this node may connect
///                       shut       no longer
///                       supervise  starts a slipway-supervisor, which is the other end of this stream
///                       watch      a socket NAME, to which ranks of this node hand in what they do; its monitor is the
///                                  other end of this stream (watch_protocol.h)
///                       end group  SIGKILL to the process group GROUP, whose shim was killed
///   both                data       the next bytes of a stream
///                       close      a stream has ended
///                       alive      every second; there is nothing else to say
///
/// A stream joins a local socket on the one side to a local socket on the other, byte for byte, so that shims and
/// supervisors are spoken to as if they ran here. The manager numbers its streams evenly, agents oddly.
///
/// Every frame: kind (8 bits), stream (32), length (32), proof (256), then the payload. The proof is an HMAC under the
/// key of this connection and direction over the frame's number, its header and its payload: what is changed, repeated,
/// left out or reordered is refused.
///
/// An agent whose connection ends closes its streams: supervisors and shims then end their programs; and with the last
/// of them the agent leaves. Until then a later agent of the same run waits on that node, so that nothing runs twice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slipway::launcher {

/// The values stand on the wire.
enum class NodeFrame : std::uint8_t {
  kJoin = 1,
  kArrived = 2,
  kOpen = 3,
  kShut = 4,
  kSupervise = 5,
  kEndGroup = 6,
  kData = 7,
  kClose = 8,
  kAlive = 9,
  kWatch = 10
};

inline constexpr char kOwnCores[] = "own";
inline constexpr char kSharedCores[] = "shared";

/// More is split by who sends.
inline constexpr std::size_t kLongestNodePayload = 256 * 1024;

}  // namespace slipway::launcher
