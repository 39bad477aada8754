#include "launcher/run/data/node_staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/progress.h"
#include "launcher/plan/data_plan.h"
#include "launcher/ranks/local/socket_folder.h"
#include "launcher/run/data/plan_agreement.h"
#include "staging/dataset/share_list.h"
#include "staging/network/group_key.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr auto kMemberLook = std::chrono::milliseconds(50);
/// The loss of a node is heard from its neighbours, too: what says it best may come a little later.
constexpr auto kSecondThought = std::chrono::milliseconds(300);
/// To look at the sources and the tiers.
constexpr auto kHelloPatience = std::chrono::minutes(2);
/// To remove what they hold; longer than the grace time of a member.
constexpr auto kReleasePatience = std::chrono::minutes(5);
constexpr auto kStopPatience = std::chrono::minutes(1);
constexpr int kStartsAgain = 3;

bool HoldsNothing(const std::unique_ptr<NodeMember>& member) { return !member->running() || member->lost(); }

}  // namespace

NodeStaging::NodeStaging(const RunFolder& folder, const Plan& plan, Nodes& nodes, EventLoop& loop, Interrupt& interrupt,
                         Output& output, std::function<void(const Error&)> on_failure)
    : folder_(folder),
      plan_(plan),
      plans_(plan.data),
      nodes_(nodes),
      loop_(loop),
      interrupt_(interrupt),
      output_(output),
      on_failure_(std::move(on_failure)),
      key_(folder.path() / (nodes.agents().key_file.stem().string() + ".staging.key")),
      logs_(folder.path() / "staging"),
      starts_left_(static_cast<std::size_t>(nodes.count()), kStartsAgain) {
  staging::GroupKey::Create(key_);
  std::vector<int> all;
  for (int node = 0; node < nodes.count(); ++node) {
    all.push_back(node);
    members_.push_back(std::make_unique<NodeMember>(loop, nodes, node, [this, node] {
      if (holding_) OnMemberFailed(*members_[static_cast<std::size_t>(node)]);
    }));
  }
  shim_listener_ = nodes.OpenShimListener(loop, std::move(all), [this](UniqueFd socket, int node) {
    members_[static_cast<std::size_t>(node)]->Arrive(std::move(socket));
  });
}

NodeStaging::~NodeStaging() {
  shim_listener_.reset();
  members_.clear();
  std::error_code ignored;
  fs::remove(key_, ignored);
}

void NodeStaging::Begin() {
  StartAll();
  AwaitHello();
  Agree();
  for (const auto& plan : plans_) {
    if (IsStagedOnEachNode(plan)) StageOne(plan);
  }
  holding_ = true;
}

void NodeStaging::StartAll() {
  for (const auto& member : members_) Start(*member);
}

void NodeStaging::Start(NodeMember& member) {
  fs::create_directories(LogsOf(member));
  member.Start(CommandOf(member), LogsOf(member));
}

fs::path NodeStaging::LogsOf(const NodeMember& member) const {
  return logs_ / fmt::format("node-{:05}", member.node());
}

std::vector<std::string> NodeStaging::CommandOf(const NodeMember& member) const {
  return {InstallPrefix() / "bin/slipway",
          "stage-member",
          folder_.path(),
          "--node",
          std::to_string(member.node()),
          "--key",
          key_,
          "--channel-path",
          SocketFolder::OnNode(shim_listener_->path(), nodes_.FactsOf(member.node()).name)};
}

void NodeStaging::Await(const std::function<bool()>& reached, const std::function<void()>& look) {
  while (!reached()) {
    if (interrupt_.asked()) throw Error(ErrorKind::kInterrupted, "staging on the nodes was cancelled");
    if (std::ranges::any_of(members_, [](const auto& member) { return member->failure().has_value(); })) ThrowFailure();
    if (look) look();
    loop_.RunOnce(kMemberLook);
  }
}

/// That of a lost node before that of a member that has ended, and that before what members say of each other.
void NodeStaging::ThrowFailure() {
  const auto until = SystemClock().Steady() + kSecondThought;
  while (SystemClock().Steady() < until) loop_.RunOnce(kMemberLook);
  const NodeMember* best = nullptr;
  const auto rank = [](const NodeMember& member) { return member.lost() ? 0 : member.running() ? 2 : 1; };
  for (const auto& member : members_) {
    if (member->failure() && (best == nullptr || rank(*member) < rank(*best))) best = member.get();
  }
  throw *best->failure();
}

void NodeStaging::AwaitHello() {
  const auto deadline = SystemClock().Steady() + kHelloPatience;
  for (const auto& member : members_) {
    Await([&] { return member->hello().has_value(); },
          [&] {
            if (SystemClock().Steady() < deadline) return;
            throw Error(
                ErrorKind::kEnvironment,
                fmt::format("node {} has not looked at the datasets within {}", member->name(),
                            FormatDuration(kHelloPatience)),
                fmt::format("see whether it reaches the sources; its log is in '{}'", LogsOf(*member).string()));
          });
  }
}

std::vector<member::MemberHello> NodeStaging::Hellos() const {
  std::vector<member::MemberHello> hellos;
  for (const auto& member : members_) hellos.push_back(*member->hello());
  return hellos;
}

/// A tier that one of the nodes cannot hold is left out for all.
void NodeStaging::Agree() {
  const auto hellos = Hellos();
  std::optional<std::vector<std::vector<TierPlan>>> here;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    auto& plan = plans_[i];
    if (!IsStagedOnEachNode(plan)) continue;
    const auto agreed = AgreeOnTier(plan, hellos);
    if (agreed.skipped.empty()) continue;
    TellSkipped(plan.request.name, agreed.skipped);
    if (!here) here = PlanInEachTier(plan_.document, 0);
    const auto chosen = std::ranges::find(here->at(i), agreed.tier, &TierPlan::tier);
    const bool known = chosen != here->at(i).end();
    if (!known || !chosen->plan) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("the host of the manager cannot hold dataset '{}' in tier {}, as the nodes can: {}",
                              plan.request.name, agreed.tier, known ? chosen->reason : "it is not in the list there"),
                  "start the run again");
    }
    plan = *chosen->plan;
    plan.rejected = agreed.skipped;
  }
}

void NodeStaging::TellSkipped(const std::string& dataset, const std::vector<std::string>& skipped) {
  for (const auto& line : skipped) output_.Say(fmt::format("{}: not in tier {}", dataset, line));
  folder_.AppendEvent("tiers_skipped", Json{{"dataset", dataset}, {"reasons", skipped}});
}

void NodeStaging::StageOne(const staging::StagingPlan& plan) {
  const auto started = SystemClock().Steady();
  IsSharedOut(plan) ? StageShares(plan) : StageCopies(plan);
  Announce(plan, SystemClock().Steady() - started);
}

/// Nodes that see one directory take it over from the one that has staged it.
void NodeStaging::StageCopies(const staging::StagingPlan& plan) {
  Members stagers;
  for (const auto i : StagersOf({plan.request.name, plan.tier}, Hellos())) stagers.push_back(members_[i].get());
  StageTogether(plan, stagers);
  for (auto* member : All()) {
    if (std::ranges::find(stagers, member) == stagers.end()) StageTogether(plan, {member});
  }
}

void NodeStaging::StageTogether(const staging::StagingPlan& plan, const Members& members) {
  const auto& name = plan.request.name;
  member::StageOrder order{{name, plan.tier}, 0, {}};
  for (const auto* member : members) order.nodes.push_back(member->hello()->address);
  for (auto* member : members) {
    member->Order(order);
    ++order.number;
  }
  AwaitReady(name, Bytes{plan.total.count * members.size()}, members);
}

/// No node needs what another one reads.
void NodeStaging::StageShares(const staging::StagingPlan& plan) {
  const auto& name = plan.request.name;
  Bytes total;
  for (const auto& share : plan.shares) total.count += share.bytes.count;
  for (const auto& member : members_) member->Order({{name, plan.tier}, 0, {member->hello()->address}});
  AwaitReady(name, total, All());
  shares_[name] = ListShares(name);
}

/// Written down for the readers of all ranks.
StagedPlace NodeStaging::ListShares(const std::string& dataset) const {
  StagedPlace place{dataset, {}, ShareListIn(folder_.data(), dataset), {}};
  std::vector<staging::NodeHolding> list;
  for (const auto& member : members_) {
    const auto& ready = member->ready().at(dataset);
    list.push_back({member->name(), ready.directory, ready.records, plan_.spec().launch.ranks_per_node});
    place.on_node[member->node()] = ready.directory;
  }
  fs::create_directories(folder_.data());
  WriteFileAtomically(place.shares, RenderShareList(list));
  return place;
}

NodeStaging::Members NodeStaging::All() const {
  Members all;
  for (const auto& member : members_) all.push_back(member.get());
  return all;
}

void NodeStaging::AwaitReady(const std::string& name, Bytes total, const Members& members) {
  Progress progress(output_, fmt::format("staging {} on {} nodes", name, members.size()), total);
  const auto show = [&] {
    Bytes done;
    for (const auto* member : members) done.count += member->done().count;
    progress.Update(done);
  };
  Await(
      [&] { return std::ranges::all_of(members, [&](const auto* member) { return member->ready().contains(name); }); },
      show);
}

void NodeStaging::Announce(const staging::StagingPlan& plan, Seconds elapsed) {
  const auto& name = plan.request.name;
  Bytes read;
  std::size_t adopted = 0;
  std::uint64_t records = 0;
  for (const auto& member : members_) {
    const auto& ready = member->ready().at(name);
    read.count += ready.adopted ? 0 : ready.read.count;
    adopted += ready.adopted ? 1 : 0;
    records += ready.records;
  }
  const auto what = adopted == members_.size() ? std::string("already there")
                                               : fmt::format("{} read in {} ({})", FormatBytes(read),
                                                             FormatDuration(elapsed), FormatRate(read, elapsed));
  const bool shares = IsSharedOut(plan);
  output_.Say(fmt::format("staged {} on {} nodes{}: {}, tier {}", name, members_.size(),
                          shares ? fmt::format(", {} records shared out", records) : "", what, plan.tier));
  Json event{
      {"dataset", name},           {"tier", plan.tier},  {"directory", (shares ? plan.root : plan.directory).string()},
      {"nodes", members_.size()},  {"adopted", adopted}, {"bytes", read.count},
      {"seconds", elapsed.count()}};
  if (shares) event["records"] = records;
  folder_.AppendEvent("staged", event);
  WarnOfUnread(name);
}

/// Of files that several nodes hold, once.
void NodeStaging::WarnOfUnread(const std::string& dataset) {
  std::set<std::string> told;
  for (const auto& member : members_) {
    for (const auto& unread : member->ready().at(dataset).unread) {
      if (told.insert(unread).second) output_.Warn(fmt::format("staged {}: {}", dataset, unread));
    }
  }
}

/// While the ranks run. A node that is lost has nothing to hold any more.
void NodeStaging::OnMemberFailed(NodeMember& member) {
  if (member.lost()) return;
  const auto failure = *member.failure();
  folder_.AppendEvent("staging_failed", Json{{"node", member.name()}, {"reason", failure.message()}});
  auto& left = starts_left_[static_cast<std::size_t>(member.node())];
  if (member.running() || left-- == 0) return on_failure_(failure);
  output_.Warn(fmt::format("{} on node {}; it is started again", failure.message(), member.name()));
  try {
    StageAgain(member);
  } catch (const Error& error) {
    on_failure_(error);
  }
}

/// Restarts a member. It adopts what is still staged, and stages again what was removed meanwhile.
void NodeStaging::StageAgain(NodeMember& member) {
  const auto address = member.hello() ? member.hello()->address : staging::NodeAddress{member.name(), 1};
  Start(member);
  for (const auto& plan : plans_) {
    if (IsStagedOnEachNode(plan)) member.Order({{plan.request.name, plan.tier}, 0, {address}});
  }
}

void NodeStaging::ReleaseOne(NodeMember& member, const std::vector<member::TierOfDataset>& datasets) try {
  member.Release(datasets);
} catch (const Error& error) {
  output_.Warn(fmt::format("what is staged on node {} may be left: {}", member.name(), error.message()));
}

void NodeStaging::AwaitRelease(std::chrono::nanoseconds patience) {
  const auto deadline = SystemClock().Steady() + patience;
  while (!std::ranges::all_of(members_, HoldsNothing) && SystemClock().Steady() < deadline) loop_.RunOnce(kMemberLook);
}

void NodeStaging::StopThoseThatStay() {
  for (const auto& member : members_) {
    if (HoldsNothing(member)) continue;
    output_.Warn(fmt::format("node {} does not let go of what is staged there: it may be left", member->name()));
    member->Stop();
  }
}

void NodeStaging::Release() {
  holding_ = false;
  std::vector<member::TierOfDataset> datasets;
  for (const auto& plan : plans_) {
    if (IsStagedOnEachNode(plan)) datasets.push_back({plan.request.name, plan.tier});
  }
  const bool clean = std::ranges::none_of(members_, [](const auto& member) { return member->failure().has_value(); });
  for (const auto& member : members_) ReleaseOne(*member, datasets);
  AwaitRelease(kReleasePatience);
  StopThoseThatStay();
  AwaitRelease(kStopPatience);
  for (const auto& member : members_) {
    for (const auto& text : member->left()) output_.Say(fmt::format("on node {}: {}", member->name(), text));
  }
  std::error_code ignored;
  if (clean) fs::remove_all(logs_, ignored);
}

}  // namespace slipway::launcher
