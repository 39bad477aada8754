#include "launcher/ranks/nodes/node_link.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

namespace slipway::launcher {
namespace {

constexpr auto kLinkBeat = std::chrono::seconds(1);
/// A side that takes nothing for so long that this much waits is gone, whatever its connection says.
constexpr std::size_t kMostWaiting = 256 << 20;

}  // namespace

NodeLink::NodeLink(EventLoop& loop, NodeConnection connection, NodePatience patience, Events events)
    : loop_(loop),
      connection_(std::move(connection)),
      sealer_(connection_.send_key),
      opener_(connection_.receive_key),
      patience_(patience),
      events_(std::move(events)),
      outgoing_(loop, connection_.socket.get()) {
  loop_.OnReadable(connection_.socket.get(), [this] { Receive(); });
  beat_ = loop_.After(kLinkBeat, [this] { Beat(); });
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
  const auto frame = sealer_.Seal(kind, stream, payload);
  bytes_ += static_cast<std::int64_t>(frame.size());
  outgoing_.Send(frame);
}

void NodeLink::Receive() {
  char buffer[65536];
  const ssize_t count = ::recv(connection_.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return End("its connection closed");
  silence_ = {};
  opener_.Add({buffer, static_cast<std::size_t>(count)});
  while (!ended_) {
    const auto message = opener_.Next();
    if (!message) break;
    if (message->kind != NodeFrame::kAlive) events_.on_message(*message);
  }
  if (opener_.forged()) End("its connection carried something that does not prove the job's key");
}

/// What lies unread is heard before the silence is judged: a loop that was busy elsewhere had one beat in that time.
void NodeLink::Beat() {
  beat_ = loop_.After(kLinkBeat, [this] { Beat(); });
  silence_ += kLinkBeat;
  const bool acknowledged = LastBeatIsAcknowledged();
  Send(NodeFrame::kAlive);
  bytes_at_beat_ = bytes_;
  Receive();
  if (!ended_) JudgeSilence(acknowledged);
  if (!ended_ && outgoing_.waiting() > kMostWaiting) End("it takes nothing any more");
}

void NodeLink::JudgeSilence(bool acknowledged) {
  if (silence_ < patience_.silent) return;
  if (!acknowledged) return End(fmt::format("no sign of life for {} s", silence_.count()));
  if (silence_ >= patience_.held) return EndHeld();
  if (silence_ == patience_.silent) events_.on_held();
}

void NodeLink::EndIfHeld() {
  if (ended_) return;
  Receive();
  if (!ended_ && silence_ >= patience_.silent) EndHeld();
}

void NodeLink::EndHeld() {
  End(fmt::format("no sign of life of its agent for {} s, though its kernel answers", silence_.count()));
}

/// A kernel acknowledges what arrives even if no process reads it.
bool NodeLink::LastBeatIsAcknowledged() const {
  int unacknowledged = 0;
  if (::ioctl(connection_.socket.get(), SIOCOUTQ, &unacknowledged) != 0) return false;
  return bytes_ - static_cast<std::int64_t>(outgoing_.waiting()) - unacknowledged >= bytes_at_beat_;
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
