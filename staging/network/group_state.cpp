#include "staging/network/group_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "staging/network/wire.h"

namespace slipway::staging {
namespace {

constexpr auto kPause = std::chrono::milliseconds(50);

ErrorKind KindOf(std::uint32_t number) {
  for (const auto kind : {ErrorKind::kUsage, ErrorKind::kEnvironment, ErrorKind::kBusy, ErrorKind::kInternal,
                          ErrorKind::kTryAgain, ErrorKind::kInterrupted}) {
    if (static_cast<std::uint32_t>(kind) == number) return kind;
  }
  return ErrorKind::kFailed;
}

}  // namespace

std::string EncodeFailure(const GroupFailure& failure) {
  WireWriter text;
  text.Number(failure.node).Number(static_cast<std::uint32_t>(failure.kind));
  return text.Text(failure.message).Text(failure.next_step).bytes();
}

std::optional<GroupFailure> DecodeFailure(std::string_view text) {
  WireReader reader(text);
  GroupFailure failure;
  failure.node = reader.Number<std::uint32_t>();
  failure.kind = KindOf(reader.Number<std::uint32_t>());
  failure.message = reader.Text();
  failure.next_step = reader.Text();
  if (!reader.good()) return {};
  return failure;
}

GroupState::GroupState(const NodeGroup& group) : group_(group), lacks_(group.nodes.size()), done_(group.nodes.size()) {}

void GroupState::NoteLacks(std::uint32_t node, bool lacks) {
  const std::lock_guard guard(mutex_);
  if (node < lacks_.size()) lacks_[node] = lacks;
  changed_.notify_all();
}

void GroupState::NoteDone(std::uint32_t node) {
  const std::lock_guard guard(mutex_);
  if (node < done_.size()) done_[node] = true;
  changed_.notify_all();
}

bool GroupState::NoteFailure(GroupFailure failure) {
  const std::lock_guard guard(mutex_);
  if (failure_) return false;
  failure_ = std::move(failure);
  changed_.notify_all();
  return true;
}

bool GroupState::IsDone(std::uint32_t node) const {
  const std::lock_guard guard(mutex_);
  return node < done_.size() && done_[node];
}

bool GroupState::AllDoneLocked() const { return std::ranges::find(done_, false) == done_.end(); }

bool GroupState::AllDone() const {
  const std::lock_guard guard(mutex_);
  return AllDoneLocked();
}

std::optional<GroupFailure> GroupState::failure() const {
  const std::lock_guard guard(mutex_);
  return failure_;
}

void GroupState::ThrowIfFailed() const {
  const auto failed = failure();
  if (!failed) return;
  if (failed->node == group_.number) throw Error(failed->kind, failed->message, failed->next_step);
  throw Error(failed->kind, fmt::format("{} says: {}", NodeName(group_, failed->node), failed->message),
              failed->next_step);
}

void GroupState::WaitUntil(const std::function<bool()>& reached, const std::function<void()>& tick) {
  while (true) {
    ThrowIfFailed();
    tick();
    std::unique_lock guard(mutex_);
    if (changed_.wait_for(guard, kPause, [&] { return reached() || failure_; }) && !failure_) return;
  }
}

std::optional<std::uint32_t> GroupState::Silent() const {
  const auto silent = std::find(lacks_.begin(), lacks_.end(), std::nullopt);
  if (silent == lacks_.end()) return {};
  return static_cast<std::uint32_t>(silent - lacks_.begin());
}

std::vector<bool> GroupState::WaitForLacks(SteadyTime deadline, const std::function<void()>& tick) {
  WaitUntil([this] { return !Silent(); },
            [&] {
              tick();
              const std::lock_guard guard(mutex_);
              const auto node = Silent();
              if (!node || SystemClock().Steady() < deadline) return;
              throw Error(ErrorKind::kEnvironment, fmt::format("{} is not ready in time", NodeName(group_, *node)),
                          "see what that node says; perhaps another run stages the same data there");
            });
  std::vector<bool> result;
  const std::lock_guard guard(mutex_);
  for (const auto& state : lacks_) result.push_back(*state);
  return result;
}

void GroupState::WaitForAllDone(const std::function<void()>& tick) {
  WaitUntil([this] { return AllDoneLocked(); }, tick);
}

}  // namespace slipway::staging
