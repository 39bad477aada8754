/// The two sides of a handshake on a non-blocking socket, each a step at a time.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>

#include "core/clock.h"
#include "core/unique_handle.h"
#include "staging/network/handshake.h"

namespace slipway::staging {

/// A connection on which both sides have proved that they hold the key.
struct Connection {
  UniqueFd fd;
  std::uint32_t peer = 0;
  GroupKey send_key;
  GroupKey receive_key;
  bool same_plan = true;
};

enum class Arrival { kMore, kComplete, kLost };

/// A message of known size that comes in pieces.
class SizedMessage {
 public:
  explicit SizedMessage(std::size_t size) : size_(size) {}
  Arrival Receive(int fd);
  const std::string& text() const { return text_; }

 private:
  std::size_t size_;
  std::string text_;
};

/// Another node that has connected to this one.
class Visitor {
 public:
  Visitor(UniqueFd fd, const GroupKey& key, const Introduction& own);

  int fd() const { return fd_.get(); }
  /// Five seconds are over.
  bool TooSlow(SteadyTime now) const { return now > until_; }
  const std::string& refusal() const { return handshake_.refusal(); }
  /// When the socket is readable. kComplete: it has proved itself.
  Arrival Advance();
  /// After kComplete.
  Connection Finish(const Digest& plan);

 private:
  UniqueFd fd_;
  SteadyTime until_;
  AcceptorHandshake handshake_;
  SizedMessage message_{kHelloBytes};
  bool confirming_ = false;
};

/// One attempt to reach another node, on a socket that StartConnect has made.
class Attempt {
 public:
  Attempt(UniqueFd fd, const GroupKey& key, const Introduction& own);

  /// What poll(2) is to wait for before the next Advance().
  pollfd Wanted() const { return {fd_.get(), static_cast<short>(connected_ ? POLLIN : POLLOUT), 0}; }
  /// Five seconds are over.
  bool TooSlow(SteadyTime now) const { return now > until_; }
  /// Why it failed: "cannot be reached: ...".
  const std::string& problem() const { return problem_; }
  Arrival Advance();
  /// After kComplete.
  Connection Finish(const Digest& plan);

 private:
  Arrival SayHello();

  UniqueFd fd_;
  SteadyTime until_;
  ConnectorHandshake handshake_;
  SizedMessage answer_{kAnswerBytes};
  bool connected_ = false;
  std::string problem_;
};

}  // namespace slipway::staging
