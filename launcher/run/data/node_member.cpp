#include "launcher/run/data/node_member.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/json_fields.h"
#include "launcher/ranks/nodes/supervisor_on_node.h"

namespace slipway::launcher {
namespace {

/// To remove what it holds; below the time that an agent gives its programs.
constexpr auto kGrace = std::chrono::seconds(50);

}  // namespace

NodeMember::NodeMember(EventLoop& loop, Nodes& nodes, int node, std::function<void()> failed)
    : loop_(loop),
      nodes_(nodes),
      node_(node),
      failed_(std::move(failed)),
      supervisor_(loop, SupervisorOn(nodes, node)) {}

void NodeMember::Start(std::vector<std::string> command, const std::filesystem::path& log_directory) {
  command_ = std::move(command);
  log_ = log_directory;
  Run();
}

void NodeMember::Run() {
  channel_.reset();
  hello_.reset();
  failure_.reset();
  ready_.clear();
  orders_.clear();
  busy_ = false;
  const auto environment = Environment::Inherited();
  const auto program = supervisor_.Prepare({command_, environment, {}, log_, {}, kGrace},
                                           [this](const SupervisedEnd& end) { OnEnd(end); });
  program_ = program.id;
  running_ = true;
  supervisor_.Go(program_);
}

void NodeMember::Arrive(UniqueFd socket) {
  if (channel_) return;
  channel_ = std::make_unique<MessageChannel>(
      loop_, std::move(socket),
      MessageChannel::Events{[this](std::string_view word, const Json& about) { Take(word, about); },
                             [this] { EndProgram(); }});
  if (release_) SayRelease();
}

void NodeMember::Order(member::StageOrder order) {
  orders_.push_back(std::move(order));
  SayNext();
}

void NodeMember::SayNext() {
  if (!hello_ || busy_ || orders_.empty()) return;
  busy_ = true;
  done_ = {};
  channel_->Say(member::kStage, ToJson(orders_.front()));
  orders_.pop_front();
}

void NodeMember::Release(const std::vector<member::TierOfDataset>& datasets) {
  release_ = datasets;
  if (lost() || command_.empty()) return;
  if (!running_) return Run();
  if (channel_) SayRelease();
}

void NodeMember::SayRelease() {
  Json datasets = Json::array();
  for (const auto& dataset : *release_) datasets.push_back(ToJson(dataset));
  channel_->Say(member::kRelease, Json{{"datasets", std::move(datasets)}});
}

/// After an unexpected end: starts another process for the release, once. The end was unnoticed before, or it happened
/// during the release.
void NodeMember::ReleaseByAnother() try {
  if (let_go_ || lost()) return;
  if (std::exchange(may_start_again_, false)) return Run();
  left_.push_back("it ended before it had let go of what is staged: that may be left");
} catch (const Error& error) {
  left_.push_back("what is staged may be left: " + error.message());
}

void NodeMember::Stop() {
  may_start_again_ = false;
  EndProgram();
}

void NodeMember::EndProgram() {
  if (running_) supervisor_.Stop(program_);
}

void NodeMember::Take(std::string_view word, const Json& about) {
  if (word == member::kHello) {
    hello_ = member::HelloFromJson(about);
    hello_->address.name = name();
    SayNext();
  } else if (word == member::kProgress) {
    done_.count = about.at("done").get<std::uint64_t>();
  } else if (word == member::kReady) {
    const auto ready = member::ReadyFromJson(about);
    ready_.insert_or_assign(ready.dataset, ready);
    busy_ = false;
    SayNext();
  } else if (word == member::kFailed) {
    Fail(ErrorFromJson(about));
  } else if (word == member::kGone) {
    left_ = about.at("left").get<std::vector<std::string>>();
    let_go_ = true;
  }
}

void NodeMember::OnEnd(const SupervisedEnd& end) {
  running_ = false;
  if (release_) return ReleaseByAnother();
  if (!end.trouble.empty())
    return Fail(Error(ErrorKind::kEnvironment, end.trouble, "see what Slurm says of its node: scontrol show node"));
  const auto how = end.start_error != 0 ? SystemError(end.start_error, "cannot be started").message()
                                        : "ended: " + end.status.Describe();
  Fail(Error(ErrorKind::kEnvironment, fmt::format("the program that stages {}", how),
             fmt::format("see its last words in '{}'", (log_ / "rank-00000.log").string())));
}

/// The first counts: what follows is its consequence.
void NodeMember::Fail(Error error) {
  if (failure_ || release_) return;
  if (!lost()) error.AddContext(fmt::format("on node {}", name()));
  failure_ = std::move(error);
  failed_();
}

}  // namespace slipway::launcher
