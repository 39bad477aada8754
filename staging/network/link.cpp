#include "staging/network/link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

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

}  // namespace slipway::staging
