#include "launcher/ranks/local/lone_rank.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace slipway::launcher {
namespace {

/// Errors of a start caused by the machine, not by the program. They may pass in a moment.
bool MayPass(int start_error) {
  constexpr int kOfTheMachine[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, ECANCELED, ENOSPC, EDQUOT};
  return std::ranges::find(kOfTheMachine, start_error) != std::end(kOfTheMachine);
}

}  // namespace

LoneRank::LoneRank(EventLoop& loop, RankLaunch launch, std::function<void(const GroupOutcome&)> ended)
    : loop_(loop), launch_(std::move(launch)), ended_(std::move(ended)) {
  LeaveMpiJob(launch_.environment);
  launch_.environment.Set("RANK", "0").Set("WORLD_SIZE", "1").Set("LOCAL_RANK", "0");
  const ProgramStart start{launch_.command,       launch_.environment, launch_.working_directory,
                           launch_.log_directory, launch_.cores,       launch_.grace};
  program_ = launch_.supervisor->Prepare(start, [this](const SupervisedEnd& end) { End(end); });
}

LoneRank::~LoneRank() {
  if (kill_timer_) loop_.Cancel(*kill_timer_);
  if (running_) launch_.supervisor->KillNow(program_.id);
}

void LoneRank::Release() {
  if (released_ || stopped_) return;
  released_ = true;
  launch_.supervisor->Go(program_.id);
}

void LoneRank::Signal(int number) {
  if (released_ && running_) launch_.supervisor->Signal(program_.id, number);
}

void LoneRank::Stop() {
  if (stopped_ || !running_) return;
  stopped_ = true;
  launch_.supervisor->Stop(program_.id);
  // The supervisor ends it within the grace time; this is for a supervisor that is stuck itself.
  kill_timer_ = loop_.After(launch_.grace + std::chrono::seconds(1), [this] {
    kill_timer_.reset();
    launch_.supervisor->End();
  });
}

void LoneRank::End(const SupervisedEnd& end) {
  running_ = false;
  if (kill_timer_) loop_.Cancel(*kill_timer_);
  kill_timer_.reset();
  ended_(OutcomeOf(end));
}

GroupOutcome LoneRank::OutcomeOf(const SupervisedEnd& end) const {
  GroupEnd group;
  group.stopped = stopped_;
  group.started = end.was_ordered && !MayPass(end.start_error);
  group.program = launch_.command.front();
  group.launcher = end.status;
  if (end.was_ordered || !end.trouble.empty()) {
    RankOutcome rank;
    rank.pid = end.pid;
    rank.host = launch_.supervisor->HostName();
    rank.status = end.status;
    rank.start_error = end.start_error;
    if (end.start_error == ENOENT) rank.interpreter = MissingInterpreter(launch_.command, launch_.working_directory);
    rank.node_trouble = end.trouble;
    rank.ended_first = !stopped_ && (end.start_error != 0 || !end.status.Success());
    group.ranks.push_back(rank);
  } else if (!stopped_) {
    group.trouble = "its supervisor was gone before it could start";
  }
  return Conclude(std::move(group));
}

}  // namespace slipway::launcher
