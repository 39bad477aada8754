/// Frames: the messages between nodes. A header of fixed size with a proof, then the payload.
///
/// The proof is an HMAC over the header and the number of the frame, under the key of this connection and direction. So
/// a changed, repeated, left out or reordered frame is refused before its payload is read. Control payloads have a
/// proof of their own. The payload of a chunk is protected by the CRC32C in its header. That finds accidents only: the
/// network of a job is not encrypted here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "staging/network/group_key.h"

namespace slipway::staging {

/// The values are part of the wire format.
enum class FrameKind : std::uint8_t {
  kState = 1,  ///< whether a node has the data or lacks it; travels once around the ring
  kChunk = 2,  ///< a part of a file; travels from its reader to the last node that lacks it
  kTaken = 3,  ///< the last node has written a chunk; travels on to its reader
  kDone = 4,   ///< a node's copy is published; travels once around the ring
  kAbort = 5,  ///< the group has failed; travels both ways
  kAlive = 6,  ///< sent when there is nothing else; goes to the neighbour only
  kPlan = 7    ///< what a node plans, when neighbours differ; goes to the neighbour only
};

struct FrameHeader {
  FrameKind kind = FrameKind::kAlive;
  std::uint32_t node = 0;     ///< the first sender; kTaken: the receiver
  std::uint32_t length = 0;   ///< of the payload
  std::uint32_t crc32c = 0;   ///< kChunk: of the payload
  std::uint32_t file = 0;     ///< kChunk: index into plan.files
  std::uint64_t offset = 0;   ///< kChunk
  std::int64_t ctime_ns = 0;  ///< kChunk: of the source when it was opened; 0: read from a staged copy
};

inline constexpr std::size_t kChunkBytes = 1 << 20;    ///< divides kCrcBlock
inline constexpr std::size_t kControlBytes = 3 << 20;  ///< longest payload of any other frame
inline constexpr std::size_t kFrameFieldBytes = 1 + 4 * 4 + 8 * 2;
inline constexpr std::size_t kFrameHeaderBytes = kFrameFieldBytes + sizeof(Digest);

/// One direction of one connection, sending side. Frames must be sent in the order in which they were sealed.
class FrameSealer {
 public:
  explicit FrameSealer(const GroupKey& key) : key_(key) {}
  /// The header as it is sent.
  std::string Seal(const FrameHeader& header);
  /// Seals header and payload of a control frame, and sets its length. With an empty payload the header stays as it is.
  std::string Seal(FrameHeader header, std::string_view payload);

 private:
  GroupKey key_;
  std::uint64_t next_ = 0;
};

/// The receiving side.
class FrameOpener {
 public:
  explicit FrameOpener(const GroupKey& key) : key_(key) {}
  /// Nothing when the proof is wrong, the kind is unknown or the payload would be too long.
  std::optional<FrameHeader> Open(std::string_view wire);
  /// The payload of the control frame whose header was opened last; nothing when its proof is wrong.
  std::optional<std::string> OpenPayload(std::string_view wire) const;

 private:
  GroupKey key_;
  std::uint64_t next_ = 0;
};

}  // namespace slipway::staging
