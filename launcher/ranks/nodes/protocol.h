/// The protocol between the manager of a job and the agents of its nodes.
///
/// An agent is one process per node, `slipway-agent`. It connects to the manager, and both prove that they hold the
/// job's key (staging/network/handshake.h). From then on all data travels in frames over that one connection:
///
/// ```
///   agent -> manager    join       first: NODE_NAME, whether the job owns its cores there ("own", "shared"),
///                                  the cores ("0,1,2"), its GPUs ("CUDA_VISIBLE_DEVICES=0,1"), and whether the
///                                  environment names them ("named-gpus")
///                       arrived    a program has connected to the listener NAME; it is the other end of this stream
///   manager -> agent    open       a socket NAME, to which programs of this node may connect
///                       shut       closes that socket
///                       supervise  starts a slipway-supervisor, which is the other end of this stream
///                       watch      a socket NAME, to which ranks of this node send their status tables; its monitor
///                                  is the other end of this stream (watch_protocol.h)
///                       measure    starts a slipway-gpus with these arguments, each with a zero byte at its end; it
///                                  is the other end of this stream (launcher/run/context/helper/slipway_gpus.cpp).
///                                  The end of the stream kills it
///                       end group  SIGKILL to the process group GROUP, whose shim was killed
///   both                data       the next bytes of a stream
///                       close      a stream has ended
///                       alive      every second, to show that the sender lives
/// ```
///
/// A stream connects a local socket at one end to a local socket at the other, byte for byte. So shims and supervisors
/// look as if they ran here. The manager numbers its streams evenly, agents oddly.
///
/// Every frame: kind (8 bits), stream (32), length (32), proof (256), then the payload. The proof is an HMAC over the
/// frame's number, its header and its payload. Its key is that of this connection and direction. Changed, repeated,
/// missing or reordered frames are refused.
///
/// An agent whose connection ends closes its streams. Supervisors and shims then end their programs, and the agent
/// leaves after the last of them. Until then a later agent of the same run waits on that node, so that nothing runs
/// twice.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slipway::launcher {

/// The values are part of the protocol.
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
  kWatch = 10,
  kMeasure = 11
};

/// Part of what both sides prove in their handshake. Each change of the protocol gets a new number, so an agent and a
/// manager of different versions refuse each other.
inline constexpr int kNodeProtocol = 3;

inline constexpr char kOwnCores[] = "own";
inline constexpr char kSharedCores[] = "shared";
/// The GPU variables of the node are those of AMD: DeviceNumbers::kInsideRocr.
inline constexpr char kCountsInsideRocr[] = "inside-rocr";
inline constexpr char kNamedGpus[] = "named-gpus";

/// The sender splits longer payloads.
inline constexpr std::size_t kLongestNodePayload = 256 * 1024;

}  // namespace slipway::launcher
