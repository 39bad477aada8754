#include "staging/network/link.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <vector>

#include "core/accept.h"
#include "staging/network/sockets.h"

namespace slipway::staging {
namespace {

/// Then the other direction has its turn.
constexpr int kFramesAtOnce = 16;

bool MeansLater() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// The part of `bytes` that is left after `done` of it; takes what it covers from `done`.
iovec Rest(const char* bytes, std::size_t size, std::size_t& done) {
  const auto skip = std::min(size, done);
  done -= skip;
  return {const_cast<char*>(bytes) + skip, size - skip};
}

}  // namespace

Link::Link(Connection connection, LinkEvents events)
    : connection_(std::move(connection)),
      events_(std::move(events)),
      sealer_(connection_.send_key),
      opener_(connection_.receive_key),
      head_(kFrameHeaderBytes, '\0'),
      last_heard_(SystemClock().Steady()) {}

void Link::Send(const FrameHeader& header, std::string_view payload) {
  if (state_ != State::kClosed && !sending_over_) queue_.push_back({header, std::string(payload), nullptr, {}});
}

void Link::Send(ChunkPtr chunk) {
  if (state_ != State::kOpen || sending_over_) return;
  const FrameHeader header{FrameKind::kChunk, chunk->reader, chunk->size,    chunk->crc32c,
                           chunk->file,       chunk->offset, chunk->ctime_ns};
  queue_.push_back({header, {}, std::move(chunk), {}});
}

void Link::Flush() {
  while (!queue_.empty() && state_ != State::kClosed) {
    auto& first = queue_.front();
    // Not before its turn: the proof counts frames, and those that are dropped are not counted.
    if (first.head.empty()) first.head = sealer_.Seal(first.header, first.payload);
    auto done = sent_of_first_;
    std::array<iovec, 2> parts{};
    parts[0] = Rest(first.head.data(), first.head.size(), done);
    if (first.chunk) {
      parts[1] = Rest(reinterpret_cast<const char*>(first.chunk->memory.get()), first.chunk->size, done);
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const auto count = ::sendmsg(fd(), &message, MSG_NOSIGNAL);
    if (count < 0) {
      if (!MeansLater()) EndSending();
      return;
    }
    sent_ += static_cast<std::uint64_t>(count);
    sent_of_first_ += static_cast<std::size_t>(count);
    if (sent_of_first_ < first.size()) return;
    sent_of_first_ = 0;
    queue_.pop_front();
  }
}

/// The peer does not listen any more. What it said last, the reason of a failure, may still have to be read.
void Link::EndSending() {
  sending_over_ = true;
  queue_.clear();
  sent_of_first_ = 0;
}

bool Link::ReceiveInto(char* memory, std::size_t size, std::size_t& filled) {
  while (filled < size) {
    const auto count = ::recv(fd(), memory + filled, size - filled, 0);
    if (count <= 0) {
      if (count == 0 || !MeansLater()) state_ = State::kClosed;
      return false;
    }
    last_heard_ = SystemClock().Steady();
    received_ += static_cast<std::uint64_t>(count);
    filled += static_cast<std::size_t>(count);
  }
  return true;
}

bool Link::ReceiveHeader() {
  if (!ReceiveInto(head_.data(), head_.size(), head_filled_)) return false;
  header_ = opener_.Open(head_);
  payload_filled_ = 0;
  if (!header_) {
    state_ = State::kForged;
    return false;
  }
  if (header_->kind == FrameKind::kChunk) {
    StartChunk();
    return !starved_;
  }
  payload_.resize(header_->length);
  return true;
}

void Link::StartChunk() {
  chunk_ = events_.take_chunk();
  starved_ = chunk_ == nullptr;
  if (starved_) return;
  chunk_->reader = header_->node;
  chunk_->file = header_->file;
  chunk_->offset = header_->offset;
  chunk_->size = header_->length;
  chunk_->crc32c = header_->crc32c;
  chunk_->ctime_ns = header_->ctime_ns;
}

bool Link::ReceivePayload() {
  if (chunk_) return ReceiveInto(reinterpret_cast<char*>(chunk_->memory.get()), chunk_->size, payload_filled_);
  return ReceiveInto(payload_.data(), payload_.size(), payload_filled_);
}

void Link::FinishControl() {
  const auto payload = opener_.OpenPayload(payload_);
  if (payload) {
    events_.on_control(*header_, *payload);
  } else {
    state_ = State::kForged;
  }
}

void Link::FinishChunk() { events_.on_chunk(std::exchange(chunk_, nullptr)); }

/// Unread bytes would make the kernel take back what was sent last, when the connection is closed.
void Link::Discard() {
  std::array<char, 64 << 10> scratch;
  for (int piece = 0; piece < kFramesAtOnce; ++piece) {
    std::size_t filled = 0;
    if (!ReceiveInto(scratch.data(), scratch.size(), filled)) return;
  }
}

void Link::Receive() {
  for (int frame = 0; frame < kFramesAtOnce && WantsToReceive(); ++frame) {
    if (state_ == State::kForged) return Discard();
    if (!header_ && !ReceiveHeader()) return;
    if (!ReceivePayload()) return;
    if (chunk_) {
      FinishChunk();
    } else {
      FinishControl();
    }
    header_.reset();
    head_filled_ = 0;
  }
}

pollfd Link::Wanted() const {
  const int events = (WantsToReceive() ? POLLIN : 0) | (WantsToSend() ? POLLOUT : 0);
  const bool any = events != 0 && state_ != State::kClosed;
  return {any ? fd() : -1, static_cast<short>(events), 0};
}

void Link::Feed() {
  if (!starved_) return;
  last_heard_ = SystemClock().Steady();
  StartChunk();
}

void Link::DropPending() {
  // A frame that has its proof is counted, whether or not a byte of it has gone.
  if (!queue_.empty()) queue_.resize(queue_.front().head.empty() ? 0 : 1);
}

std::size_t Link::PendingOf(std::uint32_t reader) const {
  return static_cast<std::size_t>(std::count_if(queue_.begin(), queue_.end(), [&](const Outgoing& outgoing) {
    return outgoing.chunk && outgoing.chunk->reader == reader;
  }));
}

void Link::ShutdownSending() { ::shutdown(fd(), SHUT_WR); }

namespace {

constexpr auto kRetryPause = std::chrono::milliseconds(100);
constexpr int kTickMs = 50;
constexpr std::size_t kMostPending = 64;

Introduction Introduce(const NodeGroup& group, std::uint32_t to, const Digest& plan) {
  return {group.number, to, static_cast<std::uint32_t>(group.nodes.size()), plan, RandomDigest()};
}

class Joining {
 public:
  Joining(const NodeGroup& group, const GroupKey& key, const Digest& plan) : group_(group), key_(key), plan_(plan) {
    if (group.listeners == nullptr) own_listeners_ = ListenOn(group.nodes[group.number]);
  }

  JoinResult Run(SteadyTime deadline, const std::function<void()>& tick) {
    try {
      while (!lost_ && (!result_.previous || !result_.next)) Step(deadline, tick);
    } catch (const Error& error) {
      result_.failure = error;
    }
    return std::move(result_);
  }

 private:
  std::uint32_t Count() const { return static_cast<std::uint32_t>(group_.nodes.size()); }
  std::uint32_t Next() const { return (group_.number + 1) % Count(); }
  std::uint32_t Previous() const { return (group_.number + Count() - 1) % Count(); }

  const std::vector<UniqueFd>& Listeners() const { return group_.listeners ? *group_.listeners : own_listeners_; }

  std::string Missing() const {
    const auto after = [](const std::string& reason) { return reason.empty() ? std::string() : "; it " + reason; };
    if (!result_.next) return fmt::format("{} did not join in time{}", NodeName(group_, Next()), after(next_problem_));
    return fmt::format("{} did not join in time{}", NodeName(group_, Previous()),
                       visitor_problem_.empty() ? std::string() : "; who connected last " + visitor_problem_);
  }

  void Step(SteadyTime deadline, const std::function<void()>& tick) {
    tick();
    const auto now = SystemClock().Steady();
    if (now > deadline) {
      throw Error(ErrorKind::kEnvironment, Missing(),
                  "start all nodes of the group with the same list and the same key file");
    }
    DropSlow(now);
    if (!result_.next && !attempt_ && now >= retry_) StartAttempt();
    Wait();
  }

  void DropSlow(SteadyTime now) {
    std::erase_if(visitors_, [&](const Visitor& visitor) { return visitor.TooSlow(now); });
    if (attempt_ && attempt_->TooSlow(now)) {
      next_problem_ = "does not answer the handshake";
      GiveUpAttempt();
    }
  }

  /// The name is looked up until it is known, then never again: a lookup may take seconds, and no node can join
  /// meanwhile.
  void StartAttempt() {
    if (next_addresses_.empty()) next_addresses_ = Resolve(group_.nodes[Next()]);
    if (next_addresses_.empty()) {
      next_problem_ = "cannot be reached: its name or address is not known here";
      return GiveUpAttempt();
    }
    auto fd = StartConnect(next_addresses_[attempts_++ % next_addresses_.size()]);
    if (fd) {
      attempt_.emplace(std::move(fd), key_, Introduce(group_, Next(), plan_));
    } else {
      next_problem_ = fmt::format("cannot be reached: {}", std::strerror(errno));
      GiveUpAttempt();
    }
  }

  void GiveUpAttempt() {
    attempt_.reset();
    retry_ = SystemClock().Steady() + kRetryPause;
  }

  void Wait() {
    std::vector<pollfd> waiting;
    const bool welcomes = SystemClock().Steady() >= welcome_again_;
    for (const auto& listener : Listeners()) waiting.push_back({welcomes ? listener.get() : -1, POLLIN, 0});
    for (const auto* joined : {&result_.previous, &result_.next}) {
      waiting.push_back({*joined ? (*joined)->fd.get() : -1, POLLRDHUP, 0});
    }
    waiting.push_back(attempt_ ? attempt_->Wanted() : pollfd{-1, 0, 0});
    for (const auto& visitor : visitors_) waiting.push_back({visitor.fd(), POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), kTickMs);
    auto at = waiting.begin() + static_cast<std::ptrdiff_t>(Listeners().size());
    for (int joined = 0; joined < 2; ++joined) lost_ = (at++)->revents != 0 || lost_;
    if ((at++)->revents != 0) AdvanceAttempt();
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
      const auto here = visitor++;
      if ((at++)->revents != 0) Advance(here);
    }
    for (std::size_t i = 0; i < Listeners().size(); ++i) {
      if (waiting[i].revents != 0) Welcome(Listeners()[i].get());
    }
  }

  void AdvanceAttempt() {
    const auto arrival = attempt_->Advance();
    if (arrival == Arrival::kMore) return;
    if (arrival == Arrival::kComplete) result_.next = attempt_->Finish(plan_);
    if (!attempt_->problem().empty()) next_problem_ = attempt_->problem();
    GiveUpAttempt();
  }

  void Advance(std::list<Visitor>::iterator visitor) {
    const auto arrival = visitor->Advance();
    if (arrival == Arrival::kMore) return;
    if (arrival == Arrival::kComplete && !result_.previous) result_.previous = visitor->Finish(plan_);
    if (arrival == Arrival::kLost && !visitor->refusal().empty()) visitor_problem_ = visitor->refusal();
    visitors_.erase(visitor);
  }

  void Welcome(int listener) {
    auto fd = AcceptFrom(listener, SOCK_NONBLOCK);
    if (!fd && NeedsAcceptPause(errno)) welcome_again_ = SystemClock().Steady() + kAcceptPause;
    if (!fd) return;
    if (visitors_.size() == kMostPending) visitors_.pop_front();
    visitors_.emplace_back(std::move(fd), key_, Introduce(group_, Previous(), plan_));
  }

  const NodeGroup& group_;
  const GroupKey& key_;
  const Digest& plan_;
  std::vector<UniqueFd> own_listeners_;
  std::vector<SocketAddress> next_addresses_;
  std::size_t attempts_ = 0;
  bool lost_ = false;  ///< a node that had joined is gone
  std::list<Visitor> visitors_;
  std::optional<Attempt> attempt_;
  SteadyTime retry_{};
  SteadyTime welcome_again_{};
  std::string next_problem_;
  std::string visitor_problem_;
  JoinResult result_;
};

}  // namespace

JoinResult JoinRing(const NodeGroup& group, const GroupKey& key, const Digest& plan, SteadyTime deadline,
                    const std::function<void()>& tick) {
  return Joining(group, key, plan).Run(deadline, tick);
}

}  // namespace slipway::staging
