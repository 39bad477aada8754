#include "staging/network/ring.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "staging/network/plan_difference.h"
#include "staging/network/wire.h"

namespace slipway::staging {
namespace {

constexpr auto kGoodbye = std::chrono::seconds(3);
constexpr auto kRingPause = std::chrono::milliseconds(50);
/// Own chunks that wait in the link: enough to keep it busy, few enough that those of others have their turn.
constexpr std::size_t kOwnWaiting = 2;

std::chrono::milliseconds AlivePause(const NodeGroup& group) {
  return std::clamp(group.stall_timeout / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
}

}  // namespace

Ring::Ring(const NodeGroup& group, std::string plan, JoinResult joined)
    : group_(group),
      plan_(std::move(plan)),
      wake_(CheckErrno(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "cannot make an event")),
      state_(group) {
  const LinkEvents events{[this](const FrameHeader& header, const std::string& payload) { OnControl(header, payload); },
                          [this] { return MemoryForChunk(); }, [this](ChunkPtr chunk) { OnChunk(std::move(chunk)); }};
  // The neighbours may still be busy with their own connections: until the deadline of joining they may be silent.
  const auto heard = SystemClock().Steady() + group.join_timeout;
  for (auto [link, connection] : {std::pair(&previous_, &joined.previous), std::pair(&next_, &joined.next)}) {
    if (!*connection) continue;
    link->emplace(std::move(**connection), events);
    (*link)->set_last_heard(heard);
    if (!(*link)->same_plan()) (*link)->Send({FrameKind::kPlan, group.number}, plan_);
  }
  if (joined.failure) Fail(*joined.failure);
  thread_ = std::jthread([this] { Run(); });
}

Ring::~Ring() { Stop(); }

void Ring::Stop() {
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
  }
  Wake();
  if (thread_.joinable()) thread_.join();
}

std::uint32_t Ring::Next() const { return (group_.number + 1) % static_cast<std::uint32_t>(group_.nodes.size()); }

void Ring::Wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void Ring::Post(Letter letter) {
  {
    const std::lock_guard guard(mutex_);
    outbox_.push_back(std::move(letter));
  }
  Wake();
}

std::vector<bool> Ring::ExchangeLacks(bool lacks, SteadyTime deadline, const std::function<void()>& tick) {
  state_.NoteLacks(group_.number, lacks);
  Post({{FrameKind::kState, group_.number}, WireWriter().Number(std::uint8_t{lacks}).bytes()});
  return state_.WaitForLacks(deadline, tick);
}

void Ring::Start(ChunkHandler& handler) {
  {
    const std::lock_guard guard(mutex_);
    handler_ = &handler;
  }
  Wake();
}

void Ring::FinishTogether(const std::function<void()>& tick) {
  state_.NoteDone(group_.number);
  Post({{FrameKind::kDone, group_.number}, {}});
  state_.WaitForAllDone(tick);
}

void Ring::Forward(ChunkPtr chunk) { next_->Send(std::move(chunk)); }

void Ring::Taken(std::uint32_t reader) { Post({{FrameKind::kTaken, reader}, {}}); }

bool Ring::Fail(const Error& error) { return FailHere(error.kind(), error.message(), error.next_step()); }

bool Ring::FailHere(ErrorKind kind, std::string message, std::string next_step) {
  return FailWith({group_.number, kind, std::move(message), std::move(next_step)});
}

bool Ring::FailWith(GroupFailure failure) {
  if (!state_.NoteFailure(std::move(failure))) return false;
  Wake();
  return true;
}

ChunkHandler* Ring::handler() const {
  const std::lock_guard guard(mutex_);
  return handler_;
}

void Ring::Run() {
  try {
    while (!Over()) Step();
    TakeOrders();
    SayGoodbye();
    Drain();
  } catch (const std::exception& error) {  // out of memory: the neighbours find the connection closed
    FailHere(ErrorKind::kFailed, error.what());
    previous_.reset();
    next_.reset();
  }
}

bool Ring::Over() const {
  const std::lock_guard guard(mutex_);
  return ending_ || failed();
}

void Ring::Step() {
  TakeOrders();
  Exchange();
  const auto now = SystemClock().Steady();
  if (now >= next_alive_) {
    for (auto* link : {&previous_, &next_}) {
      if (*link && !(*link)->WantsToSend()) (*link)->Send({FrameKind::kAlive, group_.number});
    }
    next_alive_ = now + AlivePause(group_);
  }
  CheckLinks(now);
}

/// What other threads want to be sent, and own chunks while there are few in the link.
void Ring::TakeOrders() {
  std::deque<Letter> letters;
  {
    const std::lock_guard guard(mutex_);
    letters.swap(outbox_);
  }
  if (!next_) return;
  for (const auto& letter : letters) next_->Send(letter.header, letter.payload);
  auto* const present = handler();
  while (present != nullptr && next_->PendingOf(group_.number) < kOwnWaiting) {
    auto chunk = present->NextOwn();
    if (!chunk) break;
    next_->Send(std::move(chunk));
  }
}

/// Waits until something can move, and moves it.
void Ring::Exchange() {
  std::array<pollfd, 3> waiting{};
  waiting[0] = {wake_.get(), POLLIN, 0};
  std::size_t count = 1;
  for (auto* link : {&previous_, &next_}) {
    if (!*link) continue;
    (*link)->Feed();
    (*link)->Flush();
    waiting[count++] = (*link)->Wanted();
  }
  ::poll(waiting.data(), count, static_cast<int>(std::min(kRingPause, AlivePause(group_)).count()));
  std::uint64_t ignored = 0;
  if (waiting[0].revents != 0) (void)!::read(wake_.get(), &ignored, sizeof ignored);
  for (auto* link : {&previous_, &next_}) {
    if (*link) (*link)->Receive();
  }
  sent_ = next_ ? next_->sent() : 0;
  received_ = previous_ ? previous_->received() : 0;
}

void Ring::CheckLinks(SteadyTime now) {
  // A node that has heard that all are done may leave; the one before it hears that last.
  if (previous_) CheckLink(*previous_, state_.AllDone(), now);
  if (next_) CheckLink(*next_, state_.IsDone(Next()), now);
  auto* const present = handler();
  if (present == nullptr) return;
  if (auto overdue = present->Overdue(now); !overdue.empty()) {
    FailHere(ErrorKind::kEnvironment, std::move(overdue), "look at that file system, then start again");
  }
}

void Ring::CheckLink(Link& link, bool may_close, SteadyTime now) {
  const auto name = NodeName(group_, link.peer());
  if (link.state() == Link::State::kForged) {
    FailHere(ErrorKind::kEnvironment,
             fmt::format("a message from {} does not carry the proof of this connection: it was changed, repeated or "
                         "left out on the way",
                         name),
             "look at what stands between the nodes");
  } else if (link.state() == Link::State::kClosed && !may_close) {
    FailHere(ErrorKind::kEnvironment, fmt::format("{} is gone: its connection closed", name),
             "see what that node says, then start again");
  } else if (link.state() == Link::State::kOpen && now - link.last_heard() > group_.stall_timeout) {
    FailHere(ErrorKind::kEnvironment,
             fmt::format("{} has been silent for {}", name, FormatDuration(now - link.last_heard())),
             "see whether that node and its network still work, then start again");
  }
}

/// Sends the last frames. A failure goes to both neighbours, which pass it on. When all nodes are done, this node also
/// sends kDone to the previous one. The kDone that travels around the ring may come later than the end of this
/// connection.
void Ring::SayGoodbye() {
  if (const auto failure = state_.failure()) {
    Announce(*failure);
  } else if (previous_ && state_.AllDone()) {
    previous_->Send({FrameKind::kDone, group_.number});
  }
}

void Ring::Announce(const GroupFailure& failure) {
  const auto text = EncodeFailure(failure);
  for (auto* link : {&previous_, &next_}) {
    if (!*link) continue;
    (*link)->DropPending();
    if (!(*link)->same_plan()) (*link)->Send({FrameKind::kPlan, group_.number}, plan_);
    (*link)->Send({FrameKind::kAbort, group_.number}, text);
  }
}

bool Ring::Draining() const {
  return (previous_ && previous_->state() != Link::State::kClosed) || (next_ && next_->state() != Link::State::kClosed);
}

/// Closing a socket with unread bytes would take back what was said last: everything is read until the others close.
void Ring::Drain() {
  {
    const std::lock_guard guard(mutex_);
    handler_ = nullptr;
  }
  const auto until = SystemClock().Steady() + kGoodbye;
  while (Draining() && SystemClock().Steady() < until) {
    for (auto* link : {&previous_, &next_}) {
      if (*link && ((*link)->state() == Link::State::kClosed || !(*link)->WantsToSend())) (*link)->ShutdownSending();
    }
    Exchange();
  }
}

ChunkPtr Ring::MemoryForChunk() {
  if (!failed()) {
    auto* const present = handler();
    return present == nullptr ? nullptr : present->TakeMemory();
  }
  if (!thrown_away_) {
    thrown_away_ = std::make_shared<Chunk>();
    thrown_away_->memory.reset(new std::byte[kChunkBytes]);
  }
  return thrown_away_;
}

void Ring::OnChunk(ChunkPtr chunk) {
  auto* const present = handler();
  if (present != nullptr && !failed()) present->OnChunk(std::move(chunk));
}

void Ring::OnControl(const FrameHeader& header, const std::string& payload) {
  switch (header.kind) {
    case FrameKind::kState:
    case FrameKind::kDone:
    case FrameKind::kTaken: return OnRound(header, payload);
    case FrameKind::kAbort: return OnAbort(payload);
    case FrameKind::kPlan: return OnPlan(header.node, payload);
    case FrameKind::kAlive:
    case FrameKind::kChunk: return;
  }
}

/// Frames that travel on until they come to their end.
void Ring::OnRound(const FrameHeader& header, const std::string& payload) {
  if (failed() || header.node >= group_.nodes.size()) return;
  if (header.kind == FrameKind::kTaken && header.node == group_.number) {
    if (auto* const present = handler()) present->OnTaken();
    return;
  }
  if (header.kind == FrameKind::kState) state_.NoteLacks(header.node, WireReader(payload).Number<std::uint8_t>() != 0);
  if (header.kind == FrameKind::kDone) state_.NoteDone(header.node);
  const bool last = header.kind != FrameKind::kTaken && header.node == Next();
  if (!last && next_) next_->Send(FrameHeader{header.kind, header.node}, payload);
}

void Ring::OnPlan(std::uint32_t node, const std::string& payload) {
  FailHere(ErrorKind::kUsage,
           fmt::format("{} and {} do not stage the same: {}", NodeName(group_, group_.number), NodeName(group_, node),
                       PlanDifference(plan_, payload)),
           "give all nodes the same dataset, and wait until nothing writes to its files any more");
}

void Ring::OnAbort(const std::string& payload) {
  if (auto failure = DecodeFailure(payload)) FailWith(std::move(*failure));
}

}  // namespace slipway::staging
