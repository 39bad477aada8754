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
constexpr auto kPause = std::chrono::milliseconds(50);
/// Own chunks that wait in the link: enough to keep it busy, few enough that those of others have their turn.
constexpr std::size_t kOwnWaiting = 2;

ErrorKind KindOf(std::uint32_t number) {
  for (const auto kind : {ErrorKind::kUsage, ErrorKind::kEnvironment, ErrorKind::kBusy, ErrorKind::kInternal,
                          ErrorKind::kTryAgain, ErrorKind::kInterrupted}) {
    if (static_cast<std::uint32_t>(kind) == number) return kind;
  }
  return ErrorKind::kFailed;
}

std::chrono::milliseconds AlivePause(const NodeGroup& group) {
  return std::clamp(group.stall_timeout / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
}

}  // namespace

Ring::Ring(const NodeGroup& group, std::string plan, JoinResult joined)
    : group_(group),
      plan_(std::move(plan)),
      wake_(CheckErrno(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "cannot make an event")),
      lacks_(group.nodes.size()),
      done_(group.nodes.size()) {
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
  if (!joined.problem.empty()) {
    FailHere(ErrorKind::kEnvironment, joined.problem,
             "start all nodes of the group with the same list and the same key file");
  }
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

void Ring::WaitUntil(const std::function<bool()>& reached, const std::function<void()>& tick) {
  while (true) {
    ThrowIfFailed();
    tick();
    std::unique_lock guard(mutex_);
    if (changed_.wait_for(guard, kPause, [&] { return reached() || failure_; }) && !failure_) return;
  }
}

std::vector<bool> Ring::ExchangeLacks(bool lacks, SteadyTime deadline, const std::function<void()>& tick) {
  {
    const std::lock_guard guard(mutex_);
    lacks_[group_.number] = lacks;
  }
  Post({{FrameKind::kState, group_.number}, WireWriter().Number(std::uint8_t{lacks}).bytes()});
  const auto missing = [&] { return std::find(lacks_.begin(), lacks_.end(), std::nullopt); };
  WaitUntil([&] { return missing() == lacks_.end(); },
            [&] {
              tick();
              if (SystemClock().Steady() < deadline) return;
              const std::lock_guard guard(mutex_);
              const auto node = static_cast<std::uint32_t>(missing() - lacks_.begin());
              throw Error(ErrorKind::kEnvironment, fmt::format("{} is not ready in time", NodeName(group_, node)),
                          "see what that node says; perhaps another run stages the same data there");
            });
  std::vector<bool> result;
  const std::lock_guard guard(mutex_);
  for (const auto& state : lacks_) result.push_back(*state);
  return result;
}

void Ring::Start(ChunkHandler& handler) {
  {
    const std::lock_guard guard(mutex_);
    handler_ = &handler;
  }
  Wake();
}

bool Ring::AllDone() const { return std::find(done_.begin(), done_.end(), false) == done_.end(); }

void Ring::FinishTogether(const std::function<void()>& tick) {
  {
    const std::lock_guard guard(mutex_);
    done_[group_.number] = true;
  }
  Post({{FrameKind::kDone, group_.number}, {}});
  WaitUntil([this] { return AllDone(); }, tick);
}

void Ring::Forward(ChunkPtr chunk) { next_->Send(std::move(chunk)); }

void Ring::Taken(std::uint32_t reader) { Post({{FrameKind::kTaken, reader}, {}}); }

bool Ring::Fail(const Error& error) { return FailHere(error.kind(), error.message(), error.next_step()); }

bool Ring::FailHere(ErrorKind kind, std::string message, std::string next_step) {
  return FailWith({group_.number, kind, std::move(message), std::move(next_step)});
}

bool Ring::FailWith(Failure failure) {
  {
    const std::lock_guard guard(mutex_);
    if (failure_) return false;
    failure_ = std::move(failure);
    changed_.notify_all();
  }
  Wake();
  return true;
}

bool Ring::failed() const {
  const std::lock_guard guard(mutex_);
  return failure_.has_value();
}

void Ring::ThrowIfFailed() const {
  const std::lock_guard guard(mutex_);
  if (!failure_) return;
  if (failure_->node == group_.number) throw Error(failure_->kind, failure_->message, failure_->next_step);
  throw Error(failure_->kind, fmt::format("{} says: {}", NodeName(group_, failure_->node), failure_->message),
              failure_->next_step);
}

Bytes Ring::sent() const {
  const std::lock_guard guard(mutex_);
  return Bytes{sent_};
}

Bytes Ring::received() const {
  const std::lock_guard guard(mutex_);
  return Bytes{received_};
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
  return failure_ || ending_;
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
  ChunkHandler* handler = nullptr;
  {
    const std::lock_guard guard(mutex_);
    letters.swap(outbox_);
    handler = handler_;
  }
  if (!next_) return;
  for (const auto& letter : letters) next_->Send(letter.header, letter.payload);
  while (handler != nullptr && next_->PendingOf(group_.number) < kOwnWaiting) {
    auto chunk = handler->NextOwn();
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
    const int wanted = ((*link)->WantsToReceive() ? POLLIN : 0) | ((*link)->WantsToSend() ? POLLOUT : 0);
    waiting[count++] = {(*link)->state() != Link::State::kClosed ? (*link)->fd() : -1, static_cast<short>(wanted), 0};
  }
  ::poll(waiting.data(), count, static_cast<int>(std::min(kPause, AlivePause(group_)).count()));
  std::uint64_t ignored = 0;
  if (waiting[0].revents != 0) (void)!::read(wake_.get(), &ignored, sizeof ignored);
  for (auto* link : {&previous_, &next_}) {
    if (*link) (*link)->Receive();
  }
  const std::lock_guard guard(mutex_);
  sent_ = next_ ? next_->sent() : 0;
  received_ = previous_ ? previous_->received() : 0;
}

void Ring::CheckLinks(SteadyTime now) {
  bool all_done = false;
  bool next_done = false;
  ChunkHandler* handler = nullptr;
  {
    const std::lock_guard guard(mutex_);
    all_done = AllDone();
    next_done = done_[Next()];
    handler = handler_;
  }
  // A node that has heard that all are done may leave; the one before it hears that last.
  if (previous_) CheckLink(*previous_, all_done, now);
  if (next_) CheckLink(*next_, next_done, now);
  if (handler == nullptr) return;
  if (auto overdue = handler->Overdue(now); !overdue.empty()) {
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

/// The last frames. A failure goes to both neighbours, who pass it on. When all are done, the previous node hears it
/// from this one: the word that is on its way around the ring may come later than the end of this connection.
void Ring::SayGoodbye() {
  std::optional<Failure> failure;
  {
    const std::lock_guard guard(mutex_);
    failure = failure_;
    if (!failure && AllDone() && previous_) previous_->Send({FrameKind::kDone, group_.number});
  }
  if (failure) Announce(*failure);
}

void Ring::Announce(const Failure& failure) {
  WireWriter text;
  text.Number(failure.node).Number(static_cast<std::uint32_t>(failure.kind));
  text.Text(failure.message).Text(failure.next_step);
  for (auto* link : {&previous_, &next_}) {
    if (!*link) continue;
    (*link)->DropPending();
    if (!(*link)->same_plan()) (*link)->Send({FrameKind::kPlan, group_.number}, plan_);
    (*link)->Send({FrameKind::kAbort, group_.number}, text.bytes());
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
  ChunkHandler* handler = nullptr;
  bool over = false;
  {
    const std::lock_guard guard(mutex_);
    handler = handler_;
    over = failure_.has_value();
  }
  if (!over) return handler == nullptr ? nullptr : handler->TakeMemory();
  if (!thrown_away_) {
    thrown_away_ = std::make_shared<Chunk>();
    thrown_away_->memory.reset(new std::byte[kChunkBytes]);
  }
  return thrown_away_;
}

void Ring::OnChunk(ChunkPtr chunk) {
  if (failed()) return;
  ChunkHandler* handler = nullptr;
  {
    const std::lock_guard guard(mutex_);
    handler = handler_;
  }
  if (handler != nullptr) handler->OnChunk(std::move(chunk));
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
  ChunkHandler* handler = nullptr;
  {
    const std::lock_guard guard(mutex_);
    handler = handler_;
    if (failure_ || header.node >= group_.nodes.size()) return;
    if (header.kind == FrameKind::kState) lacks_[header.node] = WireReader(payload).Number<std::uint8_t>() != 0;
    if (header.kind == FrameKind::kDone) done_[header.node] = true;
    changed_.notify_all();
  }
  if (header.kind == FrameKind::kTaken && header.node == group_.number) {
    if (handler != nullptr) handler->OnTaken();
    return;
  }
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
  WireReader reader(payload);
  Failure failure;
  failure.node = reader.Number<std::uint32_t>();
  failure.kind = KindOf(reader.Number<std::uint32_t>());
  failure.message = reader.Text();
  failure.next_step = reader.Text();
  if (reader.good()) FailWith(std::move(failure));
}

}  // namespace slipway::staging
