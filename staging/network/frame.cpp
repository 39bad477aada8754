#include "staging/network/frame.h"

#include "staging/network/wire.h"

namespace slipway::staging {
namespace {

Digest Proof(const GroupKey& key, std::uint64_t number, std::string_view what, std::string_view bytes) {
  const auto counted = WireWriter().Number(number).bytes();
  return key.Prove({ViewOf(counted), ViewOf(what), ViewOf(bytes)});
}

constexpr std::string_view kHeader = "header ";
constexpr std::string_view kPayload = "payload";

bool IsFit(const FrameHeader& header) {
  const auto kind = static_cast<std::uint8_t>(header.kind);
  if (kind < static_cast<std::uint8_t>(FrameKind::kState) || kind > static_cast<std::uint8_t>(FrameKind::kPlan)) {
    return false;
  }
  if (header.kind == FrameKind::kChunk) return header.length > 0 && header.length <= kChunkBytes;
  return header.length <= kControlBytes && (header.length == 0 || header.length >= sizeof(Digest));
}

}  // namespace

std::string FrameSealer::Seal(const FrameHeader& header) {
  WireWriter writer;
  writer.Number(static_cast<std::uint8_t>(header.kind)).Number(header.node).Number(header.length);
  writer.Number(header.crc32c).Number(header.file).Number(header.offset).Number(header.ctime_ns);
  const auto proof = Proof(key_, next_++, kHeader, writer.bytes());
  return writer.Array8(proof).bytes();
}

std::string FrameSealer::Seal(FrameHeader header, std::string_view payload) {
  if (payload.empty()) return Seal(header);
  const auto proof = Proof(key_, next_, kPayload, payload);
  header.length = static_cast<std::uint32_t>(payload.size() + proof.size());
  return Seal(header) + WireWriter().Raw(payload).Array8(proof).bytes();
}

std::optional<FrameHeader> FrameOpener::Open(std::string_view wire) {
  WireReader reader(wire);
  FrameHeader header;
  header.kind = static_cast<FrameKind>(reader.Number<std::uint8_t>());
  header.node = reader.Number<std::uint32_t>();
  header.length = reader.Number<std::uint32_t>();
  header.crc32c = reader.Number<std::uint32_t>();
  header.file = reader.Number<std::uint32_t>();
  header.offset = reader.Number<std::uint64_t>();
  header.ctime_ns = reader.Number<std::int64_t>();
  Digest proof{};
  reader.Array8(proof);
  if (!reader.good() || !SameDigest(proof, Proof(key_, next_, kHeader, wire.substr(0, kFrameFieldBytes)))) return {};
  if (!IsFit(header)) return {};
  ++next_;
  return header;
}

std::optional<std::string> FrameOpener::OpenPayload(std::string_view wire) const {
  if (wire.empty()) return std::string();
  if (wire.size() < sizeof(Digest)) return {};
  const auto payload = wire.substr(0, wire.size() - sizeof(Digest));
  WireReader reader(wire.substr(payload.size()));
  Digest proof{};
  reader.Array8(proof);
  if (!SameDigest(proof, Proof(key_, next_ - 1, kPayload, payload))) return {};
  return std::string(payload);
}

}  // namespace slipway::staging
