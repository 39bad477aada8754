#include "staging/network/socket_handshake.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "staging/network/sockets.h"

namespace slipway::staging {
namespace {

constexpr auto kHandshakeTime = std::chrono::seconds(5);

/// Handshake messages are smaller than any socket buffer: what does not go at once never will.
bool SendWhole(int fd, std::string_view bytes) {
  return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

Arrival SizedMessage::Receive(int fd) {
  std::string piece(size_ - text_.size(), '\0');
  const auto count = ::recv(fd, piece.data(), piece.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Arrival::kMore;
  if (count <= 0) return Arrival::kLost;
  text_.append(piece, 0, static_cast<std::size_t>(count));
  return text_.size() == size_ ? Arrival::kComplete : Arrival::kMore;
}

Visitor::Visitor(UniqueFd fd, const GroupKey& key, const Introduction& own)
    : fd_(std::move(fd)), until_(SystemClock().Steady() + kHandshakeTime), handshake_(key, own) {}

Arrival Visitor::Advance() {
  const auto arrival = message_.Receive(fd_.get());
  if (arrival != Arrival::kComplete) return arrival;
  if (confirming_) return handshake_.Confirm(message_.text()) ? Arrival::kComplete : Arrival::kLost;
  const auto answer = handshake_.Accept(message_.text());
  if (!answer || !SendWhole(fd_.get(), *answer)) return Arrival::kLost;
  confirming_ = true;
  message_ = SizedMessage(kConfirmBytes);
  return Arrival::kMore;
}

Connection Visitor::Finish(const Digest& plan) {
  TuneForRing(fd_.get());
  const auto keys = handshake_.Keys();
  return {std::move(fd_), handshake_.peer().from, keys.from_acceptor, keys.from_connector,
          SameDigest(handshake_.peer().plan, plan)};
}

Attempt::Attempt(UniqueFd fd, const GroupKey& key, const Introduction& own)
    : fd_(std::move(fd)), until_(SystemClock().Steady() + kHandshakeTime), handshake_(key, own) {}

Arrival Attempt::Advance() {
  if (!connected_) return SayHello();
  const auto arrival = answer_.Receive(fd_.get());
  if (arrival == Arrival::kLost) problem_ = "closed the connection during the handshake (has it the same key?)";
  if (arrival != Arrival::kComplete) return arrival;
  const auto confirm = handshake_.Accept(answer_.text());
  if (!confirm) problem_ = handshake_.refusal();
  return confirm && SendWhole(fd_.get(), *confirm) ? Arrival::kComplete : Arrival::kLost;
}

Arrival Attempt::SayHello() {
  if (const int error = ConnectResult(fd_.get()); error != 0) {
    problem_ = fmt::format("cannot be reached: {}", std::strerror(error));
    return Arrival::kLost;
  }
  connected_ = true;
  return SendWhole(fd_.get(), handshake_.hello()) ? Arrival::kMore : Arrival::kLost;
}

Connection Attempt::Finish(const Digest& plan) {
  TuneForRing(fd_.get());
  const auto keys = handshake_.Keys();
  return {std::move(fd_), handshake_.peer().from, keys.from_connector, keys.from_acceptor,
          SameDigest(handshake_.peer().plan, plan)};
}

}  // namespace slipway::staging
