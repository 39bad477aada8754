#include "core/message_channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/log.h"

namespace slipway {

MessageChannel::MessageChannel(EventLoop& loop, UniqueFd socket, Events events)
    : loop_(loop), socket_(std::move(socket)), outgoing_(loop, socket_.get()), events_(std::move(events)) {
  loop_.OnReadable(socket_.get(), [this] { Receive(); });
}

MessageChannel::~MessageChannel() {
  if (!over_) loop_.Forget(socket_.get());
}

void MessageChannel::Say(std::string_view word, const Json& about) {
  // What is no UTF-8, as names of files may be, must not end the run.
  outgoing_.Send(std::string(word) + " " + about.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void MessageChannel::Receive() {
  char buffer[65536];
  const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return End();
  unread_.append(buffer, static_cast<std::size_t>(count));
  TakeLines();
}

void MessageChannel::TakeLines() {
  std::size_t begin = 0;
  for (auto end = unread_.find('\n'); end != std::string::npos && !over_; end = unread_.find('\n', begin)) {
    if (!TakeLine(std::string_view(unread_).substr(begin, end - begin))) return End();
    begin = end + 1;
  }
  unread_.erase(0, begin);
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
}

void MessageChannel::End() {
  over_ = true;
  loop_.Forget(socket_.get());
  events_.ended();
}

}  // namespace slipway
