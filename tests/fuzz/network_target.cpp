#include "core/error.h"
#include "staging/network/frame.h"
#include "staging/network/group_state.h"
#include "staging/network/handshake.h"
#include "staging/network/node_group.h"
#include "staging/network/plan_difference.h"
#include "staging/network/wire.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

using staging::FrameHeader;
using staging::FrameKind;
using staging::WireReader;

const staging::GroupKey& Key() {
  static const staging::GroupKey key{staging::Digest{1}};
  return key;
}

bool SameHeader(const FrameHeader& left, const FrameHeader& right) {
  return left.kind == right.kind && left.node == right.node && left.length == right.length &&
         left.crc32c == right.crc32c && left.file == right.file && left.offset == right.offset &&
         left.ctime_ns == right.ctime_ns;
}

bool Fits(const FrameHeader& header) {
  if (header.kind < FrameKind::kState || header.kind > FrameKind::kPlan) return false;
  if (header.kind == FrameKind::kChunk) return header.length > 0 && header.length <= staging::kChunkBytes;
  return header.length <= staging::kControlBytes;
}

/// A header of the numbers in `text`, whatever they are.
FrameHeader HeaderOf(WireReader& text) {
  FrameHeader header;
  header.kind = static_cast<FrameKind>(text.Number<std::uint8_t>());
  header.node = text.Number<std::uint32_t>();
  header.length = text.Number<std::uint32_t>();
  header.crc32c = text.Number<std::uint32_t>();
  header.file = text.Number<std::uint32_t>();
  header.offset = text.Number<std::uint64_t>();
  header.ctime_ns = text.Number<std::int64_t>();
  return header;
}

void TryHeader(const FrameHeader& header, std::size_t changed) {
  auto wire = staging::FrameSealer(Key()).Seal(header);
  const auto opened = staging::FrameOpener(Key()).Open(wire);
  FuzzRequire(!opened || (SameHeader(*opened, header) && Fits(header)), "what was sealed comes out, if it is fit");
  wire[changed % wire.size()] = static_cast<char>(wire[changed % wire.size()] ^ 1);
  FuzzRequire(!staging::FrameOpener(Key()).Open(wire), "a changed header is refused");
}

/// The first frame of a connection.
std::string Sealed(std::string_view payload) {
  return staging::FrameSealer(Key()).Seal({FrameKind::kAbort, 1}, payload);
}

void TryPayload(std::string_view payload) {
  const auto wire = Sealed(payload);
  staging::FrameOpener opener(Key());
  const auto header = opener.Open(std::string_view(wire).substr(0, staging::kFrameHeaderBytes));
  FuzzRequire(header && header->length == wire.size() - staging::kFrameHeaderBytes,
              "the length is that of the payload");
  const auto rest = std::string_view(wire).substr(staging::kFrameHeaderBytes);
  FuzzRequire(opener.OpenPayload(rest) == payload, "a payload comes out as it went in");
  // The seeds hold proofs under this key, so an input may be a payload with the right one.
  const auto opened = opener.OpenPayload(payload);
  FuzzRequire(!opened || Sealed(*opened).substr(staging::kFrameHeaderBytes) == payload,
              "a payload without its proof is refused");
}

void TryHandshake(std::string_view text) {
  const staging::Introduction own{0, 1, 4, {}, {}};
  FuzzRequire(!staging::ConnectorHandshake(Key(), own).Accept(text), "nobody answers without the key");
  staging::AcceptorHandshake acceptor(Key(), {1, 0, 4, {}, {}});
  const bool heard = acceptor.Accept(text).has_value();
  FuzzRequire(heard == acceptor.refusal().empty(), "who is not heard is told why");
  FuzzRequire(!acceptor.Confirm(text), "nobody confirms without the key");
}

}  // namespace

void FuzzNetwork(Input input) {
  const auto text = AsText(input);
  WireReader reader(text);
  TryHeader(HeaderOf(reader), reader.Number<std::uint8_t>());
  TryPayload(reader.rest());
  FuzzRequire(!staging::FrameOpener(Key().Derive("other", {})).Open(text), "a frame of another key is refused");
  TryHandshake(text);
  FuzzRequire(!staging::PlanDifference("", text).empty(), "two plans differ in something");
  if (const auto failure = staging::DecodeFailure(text)) {
    const auto again = staging::DecodeFailure(staging::EncodeFailure(*failure));
    FuzzRequire(again && again->node == failure->node && again->kind == failure->kind, "a failure travels on");
  }
  Try([text] { FuzzRequire(!staging::ParseNodes(text, "input").empty(), "a list names a node"); });
}

}  // namespace slipway::fuzz
