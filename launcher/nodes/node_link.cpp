#include "launcher/nodes/node_link.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>

#include "staging/network/wire.h"

namespace slipway::launcher {

using staging::Digest;
using staging::GroupKey;
using staging::ViewOf;
using staging::WireReader;
using staging::WireWriter;

namespace {

constexpr auto kBeat = std::chrono::seconds(1);
constexpr std::size_t kFieldBytes = 1 + 4 + 4;
constexpr std::size_t kHeaderBytes = kFieldBytes + sizeof(Digest);
/// A side that takes nothing for so long that this much waits is gone, whatever its connection says.
constexpr std::size_t kMostWaiting = 256 << 20;

Digest ProofOf(const GroupKey& key, std::uint64_t number, std::string_view fields, std::string_view payload) {
  const auto counted = WireWriter().Number(number).bytes();
  return key.Prove({ViewOf(counted), ViewOf(fields), ViewOf(payload)});
}

bool IsKind(std::uint8_t value) {
  return value >= static_cast<std::uint8_t>(NodeFrame::kJoin) && value <= static_cast<std::uint8_t>(NodeFrame::kAlive);
}

}  // namespace

NodeLink::NodeLink(EventLoop& loop, NodeConnection connection, std::chrono::seconds patience, Events events)
    : loop_(loop),
      connection_(std::move(connection)),
      patience_(patience),
      events_(std::move(events)),
      outgoing_(loop, connection_.socket.get()) {
  loop_.OnReadable(connection_.socket.get(), [this] { Receive(); });
  beat_ = loop_.After(kBeat, [this] { Beat(); });
}

NodeLink::~NodeLink() {
  if (beat_) loop_.Cancel(*beat_);
  if (!ended_) loop_.Forget(connection_.socket.get());
}

void NodeLink::Send(NodeFrame kind, std::uint32_t stream, std::string_view payload) {
  do {
    SendFrame(kind, stream, payload.substr(0, kLongestNodePayload));
    payload.remove_prefix(std::min(payload.size(), kLongestNodePayload));
  } while (!payload.empty());
}

void NodeLink::SendFrame(NodeFrame kind, std::uint32_t stream, std::string_view payload) {
  if (ended_) return;
  WireWriter writer;
  writer.Number(static_cast<std::uint8_t>(kind)).Number(stream).Number(static_cast<std::uint32_t>(payload.size()));
  const auto proof = ProofOf(connection_.send_key, sent_frames_++, writer.bytes(), payload);
  outgoing_.Send(writer.Array8(proof).Raw(payload).bytes());
}

void NodeLink::Receive() {
  char buffer[65536];
  const ssize_t count = ::recv(connection_.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return End("its connection closed");
  silence_ = {};
  received_.append(buffer, static_cast<std::size_t>(count));
  while (!ended_) {
    const auto message = TakeFrame();
    if (!message) break;
    if (message->kind != NodeFrame::kAlive) events_.on_message(*message);
  }
  if (forged_) End("its connection carried something that does not prove the job's key");
}

std::optional<NodeMessage> NodeLink::TakeFrame() {
  if (received_.size() < kHeaderBytes) return {};
  WireReader reader(std::string_view(received_).substr(0, kHeaderBytes));
  const auto kind = reader.Number<std::uint8_t>();
  const auto stream = reader.Number<std::uint32_t>();
  const auto length = reader.Number<std::uint32_t>();
  Digest proof{};
  reader.Array8(proof);
  forged_ = !IsKind(kind) || length > kLongestNodePayload;
  if (forged_ || received_.size() < kHeaderBytes + length) return {};
  NodeMessage message{static_cast<NodeFrame>(kind), stream, received_.substr(kHeaderBytes, length)};
  const auto fields = std::string_view(received_).substr(0, kFieldBytes);
  forged_ = !staging::SameDigest(proof, ProofOf(connection_.receive_key, received_frames_++, fields, message.payload));
  if (forged_) return {};
  received_.erase(0, kHeaderBytes + length);
  return message;
}

/// What lies unread is heard before the silence is judged: a loop that was busy elsewhere had one beat in that time.
void NodeLink::Beat() {
  beat_ = loop_.After(kBeat, [this] { Beat(); });
  silence_ += kBeat;
  Send(NodeFrame::kAlive);
  Receive();
  if (ended_) return;
  if (silence_ >= patience_) return End(fmt::format("no sign of life for {} s", silence_.count()));
  if (outgoing_.waiting() > kMostWaiting) End("it takes nothing any more");
}

void NodeLink::End(const std::string& reason) {
  if (ended_) return;
  ended_ = true;
  loop_.Forget(connection_.socket.get());
  // A side that was only thought to be gone hears that it is given up.
  ::shutdown(connection_.socket.get(), SHUT_RDWR);
  events_.on_end(reason);
}

}  // namespace slipway::launcher
