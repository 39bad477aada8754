#include "launcher/run/data/staging_member.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/boot_id.h"
#include "core/clock.h"
#include "core/json_fields.h"
#include "core/message_channel.h"
#include "core/process_identity.h"
#include "launcher/plan/data_plan.h"
#include "launcher/ranks/nodes/own_addresses.h"
#include "launcher/run/data/background_staging.h"
#include "launcher/run/data/member_protocol.h"
#include "launcher/run_folder/prepare.h"
#include "staging/copy/own_sums.h"
#include "staging/generation/generation.h"
#include "staging/generation/stage.h"
#include "staging/network/sockets.h"
#include "staging/network/stage_across.h"
#include "staging/plan/tiers.h"
#include "staging/stream/count_records.h"

namespace slipway::launcher {
namespace {

using staging::StagingPlan;

constexpr auto kProgressPause = std::chrono::milliseconds(500);
/// For the last words, when the manager is slow to listen.
constexpr auto kLastWords = std::chrono::seconds(2);
/// Members of several nodes that see the same directory let go at the same moment: all but the last find it in use.
constexpr int kRemovals = 5;
constexpr auto kRemovalPause = std::chrono::milliseconds(40);

UniqueFd ConnectTo(const std::filesystem::path& channel_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (channel_path.native().size() >= sizeof address.sun_path) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is too long for a socket", channel_path.string()),
                "set TMPDIR to a directory with a shorter path");
  }
  std::memcpy(address.sun_path, channel_path.c_str(), channel_path.native().size());
  UniqueFd socket(CheckErrno(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "cannot create a socket"));
  CheckErrno(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
             fmt::format("cannot reach the manager through '{}'", channel_path.string()));
  return socket;
}

/// On the addresses of this host's name; on all where the host itself does not know its name.
std::vector<UniqueFd> ListenHere() try { return staging::ListenOn({HostName(), 0}); } catch (const Error&) {
  return staging::ListenOn({"0.0.0.0", 0});
}

staging::NodeAddress AddressOf(const std::vector<UniqueFd>& listeners) {
  auto all = AddressesOf(listeners);
  if (all.empty())
    throw Error(ErrorKind::kEnvironment, "this node has no address at which others could reach it",
                "check its network: ip address");
  auto address = all.front();
  address.more.assign(all.begin() + 1, all.end());
  return address;
}

/// The same inode under the same kernel is the same directory.
std::string RootOf(const StagingPlan& plan) {
  staging::PrepareRoot(plan);
  struct stat info {};
  CheckErrno(::stat(plan.root.c_str(), &info), fmt::format("cannot look at '{}'", plan.root.string()));
  return fmt::format("{}:{}:{}", BootId(), info.st_dev, info.st_ino);
}

class StagingMember {
 public:
  explicit StagingMember(const MemberOptions& options)
      : options_(options), channel_(loop_, ConnectTo(options.channel_path), MakeEvents()) {
    loop_.OnSignals({SIGTERM, SIGINT, SIGHUP}, [this](int) { leaving_ = true; });
  }

  int Run() {
    Introduce();
    while (!leaving_) loop_.RunOnce();
    channel_.Say(member::kGone, Json{{"left", LetGo()}});
    const auto deadline = SystemClock().Steady() + kLastWords;
    while (!channel_.flushed() && SystemClock().Steady() < deadline) loop_.RunOnce(std::chrono::milliseconds(20));
    return 0;
  }

 private:
  MessageChannel::Events MakeEvents() {
    return {[this](std::string_view word, const Json& about) { Take(word, about); }, [this] { leaving_ = true; }};
  }

  /// Errors before the introduction are reported like all others.
  void Introduce() try {
    document_ = StoredSpec(RunFolder::Open(options_.folder));
    listeners_ = ListenHere();
    member::MemberHello hello{::getpid(), AddressOf(listeners_), {}};
    const auto planned = PlanInEachTier(document_, options_.node);
    for (std::size_t i = 0; i < planned.size(); ++i) {
      for (const auto& tier : planned[i]) hello.offers.push_back(OfferOf(document_.spec.data[i].name, tier));
    }
    channel_.Say(member::kHello, ToJson(hello));
  } catch (const Error& error) {
    channel_.Say(member::kFailed, ErrorToJson(error));
  }

  /// Keeps the plan of what it offers.
  member::Offer OfferOf(const std::string& dataset, const TierPlan& in_tier) {
    member::Offer offer{dataset, in_tier.tier, {}, {}, in_tier.reason, {}};
    if (!in_tier.plan) return offer;
    const auto& plan = *in_tier.plan;
    offer.shared_out = plan.shared_out;
    if (!IsSharedOut(plan)) offer.directory = plan.directory;
    try {
      if (IsStagedOnEachNode(plan) && !plan.root.empty()) offer.root = RootOf(plan);
      plans_.push_back(plan);
    } catch (const Error& error) {
      offer.reason = fmt::format("{}: {}", in_tier.tier, error.message());
    }
    return offer;
  }

  void Take(std::string_view word, const Json& about) {
    if (word == member::kStage) Begin(member::OrderFromJson(about));
    if (word == member::kRelease) Leave(about);
  }

  void Leave(const Json& about) {
    leaving_ = true;
    for (const auto& dataset : about.at("datasets")) {
      if (const auto* plan = PlanOf(member::TierOfDatasetFromJson(dataset))) held_.try_emplace(plan);
    }
  }

  const StagingPlan* PlanOf(const member::TierOfDataset& what) const {
    for (const auto& plan : plans_) {
      if (plan.request.name == what.dataset && plan.tier == what.tier) return &plan;
    }
    return nullptr;
  }

  void Begin(const member::StageOrder& order) {
    const auto* plan = PlanOf(order.what);
    if (plan == nullptr || work_) return;
    held_.try_emplace(plan);
    group_ = {};
    group_.number = order.number;
    group_.nodes = order.nodes;
    group_.listeners = &listeners_;
    group_.key_file = options_.key;
    staging::StageOptions staging;
    staging.bandwidth = plan->bandwidth;
    staging.link_root = RunFolder::Open(options_.folder).data();
    work_ = std::make_unique<BackgroundStaging>(
        loop_, std::move(staging), [this, plan](const staging::StageOptions& given) { return Stage(*plan, given); },
        [this, plan] { OnNews(*plan); });
  }

  /// On a thread of its own.
  staging::StagedDataset Stage(const StagingPlan& plan, const staging::StageOptions& options) {
    if (IsSharedOut(plan)) return StageShare(plan, options);
    auto across = StageAcrossNodes(plan, options, group_);
    read_ = across.read;
    return std::move(across.dataset);
  }

  /// No other node needs these files.
  staging::StagedDataset StageShare(const StagingPlan& plan, const staging::StageOptions& options) {
    auto staged = staging::Stage(plan, options);
    read_ = staged.copied;
    records_ = staging::CountStaged(plan, staged, options.cancelled);
    return staged;
  }

  member::MemberReady ReadyWith(const StagingPlan& plan, const staging::StagedDataset& staged) const {
    member::MemberReady ready{
        plan.request.name, staged.adopted, read_, staged.directory, IsSharedOut(plan) ? records_ : 0, {}};
    if (!staged.own_sums) return ready;
    for (const auto& unread : staged.own_sums->unread) ready.unread.push_back(staging::DescribeUnread(unread));
    return ready;
  }

  void OnNews(const StagingPlan& plan) {
    if (!work_) return;
    if (!work_->ended()) return TellProgress();
    const auto work = std::move(work_);
    try {
      auto& held = held_[&plan];
      held = work->Take();
      channel_.Say(member::kReady, ToJson(ReadyWith(plan, *held)));
    } catch (const Error& error) {
      channel_.Say(member::kFailed, ErrorToJson(error));
    }
  }

  void TellProgress() {
    const auto now = SystemClock().Steady();
    if (now - told_ < kProgressPause) return;
    told_ = now;
    const auto progress = work_->progress();
    channel_.Say(member::kProgress, Json{{"done", progress.done.count}, {"total", progress.total.count}});
  }

  /// Returns what could not be removed, in words.
  std::vector<std::string> LetGo() {
    work_.reset();
    std::vector<std::string> left;
    for (auto& [plan, staged] : held_) {
      staged.reset();
      if (auto remark = Remove(*plan); !remark.empty()) left.push_back(std::move(remark));
    }
    return left;
  }

  /// Removes the dataset. An incomplete one is useless to the next group, which starts from the beginning.
  std::string Remove(const StagingPlan& plan) const try {
    if (plan.root.empty()) return {};  // links, which stay in the run's folder
    staging::RemoveLeftover(plan.root, plan.generation);
    if (KeepOf(plan.request.name) == Keep::kCache) return {};
    for (int i = 0; i < kRemovals; ++i) {
      if (staging::RemoveGeneration(plan.root, plan.generation) != staging::Removal::kInUse) return {};
      std::this_thread::sleep_for(kRemovalPause);
    }
    return fmt::format("the staged copy of {} stays in tier {}: it is in use", plan.request.name, plan.tier);
  } catch (const Error& error) {
    return fmt::format("the staged copy of '{}' is left: {}", plan.request.name, error.message());
  }

  Keep KeepOf(const std::string& dataset) const {
    for (const auto& spec : document_.spec.data) {
      if (spec.name == dataset) return spec.keep;
    }
    return Keep::kJob;
  }

  const MemberOptions& options_;
  EventLoop loop_;
  bool leaving_ = false;
  MessageChannel channel_;
  SpecDocument document_;
  std::deque<StagingPlan> plans_;  ///< of all that it has offered; they stay where they are
  std::vector<UniqueFd> listeners_;
  staging::NodeGroup group_;
  Bytes read_;
  std::uint64_t records_ = 0;  ///< of the last share
  SteadyTime told_{};
  /// Of each dataset that it was ordered to stage; empty until it is complete.
  std::map<const StagingPlan*, std::optional<staging::StagedDataset>> held_;
  std::unique_ptr<BackgroundStaging> work_;  // ends before what it uses
};

}  // namespace

int RunStagingMember(const MemberOptions& options) { return StagingMember(options).Run(); }

}  // namespace slipway::launcher
