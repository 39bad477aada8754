#include "staging/network/join.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <vector>

#include "staging/network/sockets.h"

namespace slipway::staging {
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

  /// The name is looked up until it is known, then never again: that may take seconds, in which no node is let in.
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
    for (const auto& listener : Listeners()) waiting.push_back({listener.get(), POLLIN, 0});
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
    auto fd = AcceptFrom(listener);
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
