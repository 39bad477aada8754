#include "core/message_channel.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/json_text.h"
#include "core/log.h"

namespace slipway {

bool OutgoingBytes::Send(std::string_view bytes) {
  if (gone_) return false;
  unsent_ += bytes;
  Flush();
  return !gone_;
}

void OutgoingBytes::Flush() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t count = ::send(socket_, unsent_.data() + sent, unsent_.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) gone_ = true;
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  unsent_.erase(0, gone_ ? unsent_.size() : sent);
  if (unsent_.empty()) return StopWaiting();
  AwaitWritable();
}

/// The loop waits for reading only; an epoll descriptor is readable when what it watches is ready, for writing here.
void OutgoingBytes::AwaitWritable() {
  if (writable_) return;
  writable_ = UniqueFd(CheckErrno(::epoll_create1(EPOLL_CLOEXEC), "cannot wait for a socket"));
  epoll_event event{};
  event.events = EPOLLOUT;
  CheckErrno(::epoll_ctl(writable_.get(), EPOLL_CTL_ADD, socket_, &event), "cannot wait for a socket");
  loop_.OnReadable(writable_.get(), [this] { Flush(); });
}

void OutgoingBytes::StopWaiting() {
  if (!writable_) return;
  loop_.Forget(writable_.get());
  writable_.Reset();
}

MessageChannel::MessageChannel(EventLoop& loop, UniqueFd socket, Events events)
    : loop_(loop), socket_(std::move(socket)), outgoing_(loop, socket_.get()), events_(std::move(events)) {
  loop_.OnReadable(socket_.get(), [this] { Receive(); });
}

MessageChannel::~MessageChannel() {
  if (!over_) loop_.Forget(socket_.get());
}

void MessageChannel::Say(std::string_view word, const Json& about) {
  // What is no UTF-8, as names of files may be, must not end the run.
  outgoing_.Send(std::string(word) + " " + JsonText(about) + "\n");
}

void MessageChannel::Receive() {
  char buffer[65536];
  const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return End();
  unread_.Add({buffer, static_cast<std::size_t>(count)});
  for (std::string_view line; !over_ && unread_.Next(line);) {
    if (!TakeLine(line)) return End();
  }
  if (!over_ && unread_.overlong()) End();
}

bool MessageChannel::TakeLine(std::string_view line) try {
  log::Debug("heard: {}", line);
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return false;
  events_.heard(line.substr(0, space), Json::parse(line.substr(space + 1)));
  return true;
} catch (const Json::exception& error) {
  log::Warn("'{}' is no message: {}", line, error.what());
  return false;
} catch (const DocumentError& error) {
  log::Warn("'{}' is no message: {}", line, error.message());
  return false;
}

void MessageChannel::End() {
  over_ = true;
  loop_.Forget(socket_.get());
  events_.ended();
}

}  // namespace slipway
