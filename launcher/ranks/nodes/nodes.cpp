#include "launcher/ranks/nodes/nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/accept.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/event_loop.h"
#include "core/log.h"
#include "core/unique_handle.h"
#include "launcher/ranks/local/socket_folder.h"
#include "launcher/ranks/local/socket_pair.h"
#include "launcher/ranks/nodes/cross_thread_calls.h"
#include "launcher/ranks/nodes/node_link.h"
#include "launcher/ranks/nodes/own_addresses.h"
#include "launcher/ranks/nodes/streams.h"
#include "staging/network/socket_handshake.h"
#include "staging/network/sockets.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

using staging::Arrival;
using staging::GroupKey;
using staging::Visitor;

namespace {

/// The most connections during their handshake; a new one replaces the oldest.
constexpr std::size_t kMostVisitors = 1024;
/// In a message, which is a line of a terminal and of records.
constexpr std::size_t kMostNamedNodes = 16;

}  // namespace

/// Everything that the thread does. Public calls come from the manager's thread.
class Nodes::Service {
 public:
  Service(const AgentOptions& agents, const Options& options, std::vector<UniqueFd> listeners)
      : agents_(agents),
        patience_(options.patience),
        warned_(options.warned),
        key_(GroupKey::Read(agents.key_file)),
        listeners_(std::move(listeners)),
        nodes_(static_cast<std::size_t>(agents.nodes)) {
    for (const auto& listener : listeners_) {
      watches_.emplace_back(loop_, listener.get(), SOCK_NONBLOCK,
                            [this](UniqueFd socket) { Welcome(std::move(socket)); });
    }
    thread_ = std::thread([this] {
      while (!over_) Step();
    });
  }

  ~Service() {
    calls_.Post([this] { over_ = true; });
    thread_.join();
  }

  bool AwaitJoined(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return joined_.wait_for(lock, limit, [this] { return Absent().empty(); });
  }

  std::string Missing() const {
    const std::scoped_lock lock(mutex_);
    const auto absent = Absent();
    const auto named = std::span(absent).first(std::min(absent.size(), kMostNamedNodes));
    auto text = fmt::format("{} of {} nodes have not joined (node {}{})", absent.size(), nodes_.size(),
                            fmt::join(named, ", "), named.size() < absent.size() ? ", ..." : "");
    return refusal_.empty() ? text : text + "; who connected last " + refusal_;
  }

  NodeFacts FactsOf(int node) const {
    const std::scoped_lock lock(mutex_);
    return nodes_.at(static_cast<std::size_t>(node)).facts;
  }

  std::string TroubleOf(int node) const {
    const std::scoped_lock lock(mutex_);
    return nodes_.at(static_cast<std::size_t>(node)).trouble;
  }

  /// What the agent starts for a frame of this kind is at the other end of the returned socket.
  UniqueFd Start(int node, NodeFrame kind, const std::string& payload = {}) {
    auto pair = MakeSocketPair();
    auto shared = std::make_shared<UniqueFd>(std::move(pair.theirs));
    calls_.Post([this, node, kind, payload, shared] {
      auto& there = At(node);
      if (!there.link || there.lost) return;
      const auto stream = next_stream_;
      next_stream_ += 2;
      there.link->Send(kind, stream, payload);
      there.streams->Add(stream, std::move(*shared));
    });
    return std::move(pair.ours);
  }

  void Tell(int node, NodeFrame kind, std::string text) {
    calls_.Post([this, node, kind, text = std::move(text)] {
      if (auto& there = At(node); there.link) there.link->Send(kind, 0, text);
    });
  }

  void GiveUpIfHeld(int node) {
    calls_.Post([this, node] {
      if (auto& there = At(node); there.link) there.link->EndIfHeld();
    });
  }

  using Arrived = std::function<void(UniqueFd, int node)>;

  /// `arrived` is called in the thread.
  void Open(const std::string& listener, const std::vector<int>& nodes, Arrived arrived) {
    calls_.Post([this, listener, arrived = std::move(arrived)]() mutable { arrived_[listener] = std::move(arrived); });
    for (const int node : nodes) Tell(node, NodeFrame::kOpen, listener);
  }

  /// After it has returned, `arrived` is not called any more.
  void Shut(const std::string& listener, const std::vector<int>& nodes) {
    for (const int node : nodes) Tell(node, NodeFrame::kShut, listener);
    std::promise<void> done;
    calls_.Post([&] {
      arrived_.erase(listener);
      done.set_value();
    });
    done.get_future().wait();
  }

 private:
  struct Node {
    std::unique_ptr<NodeLink> link;
    std::unique_ptr<Streams> streams;
    bool lost = false;
    bool was_held = false;
    NodeFacts facts;      ///< guarded by mutex_
    std::string trouble;  ///< guarded by mutex_
    bool joined = false;  ///< guarded by mutex_
  };

  /// What goes wrong with one connection must not end the others.
  void Step() try { loop_.RunOnce(); } catch (const std::exception& error) {
    log::Warn("while serving the nodes of the job: {}", error.what());
  }

  Node& At(int node) { return nodes_.at(static_cast<std::size_t>(node)); }

  /// With the mutex held.
  std::vector<std::size_t> Absent() const {
    std::vector<std::size_t> absent;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].joined) absent.push_back(i);
    }
    return absent;
  }

  void Welcome(UniqueFd socket) {
    DropSlowVisitors();
    if (visitors_.size() == kMostVisitors) Drop(visitors_.begin());
    const auto own = IntroductionOf(agents_, static_cast<std::uint32_t>(agents_.nodes), staging::kAnyNode);
    const auto visitor = visitors_.emplace(visitors_.end(), std::move(socket), key_, own);
    loop_.OnReadable(visitor->fd(), [this, visitor] { Advance(visitor); });
  }

  void DropSlowVisitors() {
    const auto now = SystemClock().Steady();
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
      const auto here = visitor++;
      if (here->TooSlow(now)) Drop(here);
    }
  }

  void Drop(std::list<Visitor>::iterator visitor) {
    loop_.Forget(visitor->fd());
    visitors_.erase(visitor);
  }

  void Advance(std::list<Visitor>::iterator visitor) {
    const auto arrival = visitor->Advance();
    if (arrival == Arrival::kMore) return;
    loop_.Forget(visitor->fd());
    if (arrival == Arrival::kComplete) {
      Adopt(visitor->Finish(IntroductionOf(agents_, 0, 0).plan));
    } else {
      Refuse(visitor->refusal().empty() ? "left in the middle of the handshake (has it the same key?)"
                                        : visitor->refusal());
    }
    visitors_.erase(visitor);
  }

  void Refuse(std::string why) {
    log::Warn("refused a connection to this manager: the peer {}", why);
    const std::scoped_lock lock(mutex_);
    refusal_ = std::move(why);
  }

  void Adopt(staging::Connection connection) {
    const int number = static_cast<int>(connection.peer);
    if (!connection.same_plan || number >= agents_.nodes) return Refuse("belongs to another run");
    auto& node = At(number);
    if (node.link) return Refuse(fmt::format("says that it is node {}, which has joined already", number));
    node.link = std::make_unique<NodeLink>(
        loop_, NodeConnection{std::move(connection.fd), connection.send_key, connection.receive_key}, patience_,
        NodeLink::Events{.on_message = [this, number](const NodeMessage& message) { Take(number, message); },
                         .on_held = [this, number] { NoteHeld(number); },
                         .on_end = [this, number](const std::string& reason) { Lose(number, reason); }});
    node.streams =
        std::make_unique<Streams>(loop_, [&node](NodeFrame kind, std::uint32_t stream, std::string_view payload) {
          node.link->Send(kind, stream, payload);
        });
  }

  void Take(int number, const NodeMessage& message) {
    auto& node = At(number);
    switch (message.kind) {
      case NodeFrame::kJoin: return Join(node, ParseFacts(message.payload));
      case NodeFrame::kArrived: return TakeArrival(number, message);
      case NodeFrame::kData: return node.streams->TakeData(message.stream, message.payload);
      case NodeFrame::kClose: return node.streams->TakeClose(message.stream);
      default: return;
    }
  }

  void Join(Node& node, NodeFacts facts) {
    log::Info("node {} has joined", facts.name);
    const std::scoped_lock lock(mutex_);
    node.facts = std::move(facts);
    node.joined = true;
    joined_.notify_all();
  }

  /// A connection for a listener that has just been shut is closed.
  void TakeArrival(int number, const NodeMessage& message) {
    const auto listener = arrived_.find(message.payload);
    if (listener == arrived_.end()) return At(number).link->Send(NodeFrame::kClose, message.stream);
    auto pair = MakeSocketPair();
    At(number).streams->Add(message.stream, std::move(pair.theirs));
    listener->second(std::move(pair.ours), number);
  }

  /// With the mutex held, or from the thread, which alone changes it.
  std::string NameOf(int number) const {
    const auto& name = nodes_.at(static_cast<std::size_t>(number)).facts.name;
    return name.empty() ? std::to_string(number) : name;
  }

  /// Once for each node: one that is held again and again would fill the record of events.
  void NoteHeld(int number) {
    if (std::exchange(At(number).was_held, true) || !warned_) return;
    warned_(fmt::format(
        "the agent of node {} has been silent for {} s, though its kernel answers: it may be stopped, frozen or "
        "swapped out; the node is lost after {} s of silence",
        NameOf(number), patience_.silent.count(), patience_.held.count()));
  }

  /// The reason is there before the streams end.
  void Lose(int number, const std::string& reason) {
    auto& node = At(number);
    {
      const std::scoped_lock lock(mutex_);
      node.trouble = fmt::format("node {} is lost: {}", NameOf(number), reason);
      log::Warn("{}", node.trouble);
    }
    node.lost = true;
    node.streams->CloseAll();
  }

  const AgentOptions& agents_;
  const NodePatience patience_;
  const std::function<void(const std::string&)> warned_;
  const GroupKey key_;
  EventLoop loop_;
  CrossThreadCalls calls_{loop_};
  bool over_ = false;
  std::vector<UniqueFd> listeners_;
  std::list<AcceptWatch> watches_;  ///< of the listeners
  std::list<Visitor> visitors_;
  std::map<std::string, Arrived> arrived_;  ///< by the name of the listener
  std::uint32_t next_stream_ = 2;           ///< even: those of the agents are odd

  mutable std::mutex mutex_;
  std::condition_variable joined_;
  std::string refusal_;  ///< guarded by mutex_
  std::vector<Node> nodes_;
  std::thread thread_;
};

class Nodes::NodesListener final : public ShimListener {
 public:
  NodesListener(EventLoop& loop, Nodes& nodes, std::string listener, std::vector<int> on, Arrived arrived)
      : nodes_(nodes),
        listener_(std::move(listener)),
        on_(std::move(on)),
        path_(nodes.agents_.sockets / listener_),
        arrived_(std::move(arrived)),
        calls_(loop) {
    nodes_.service_->Open(listener_, on_, [this](UniqueFd socket, int node) {
      auto shared = std::make_shared<UniqueFd>(std::move(socket));
      calls_.Post([this, shared, node] { arrived_(std::move(*shared), node); });
    });
  }
  ~NodesListener() override { nodes_.service_->Shut(listener_, on_); }

  const fs::path& path() const override { return path_; }
  void KillGroup(int node, pid_t group) override { nodes_.KillGroup(node, group); }
  std::string TroubleOf(int node) const override { return nodes_.TroubleOf(node); }

 private:
  Nodes& nodes_;
  std::string listener_;
  std::vector<int> on_;
  fs::path path_;
  Arrived arrived_;
  CrossThreadCalls calls_;
};

Nodes::Nodes(Options options) {
  agents_.nodes = options.count;
  agents_.run = std::move(options.run);
  agents_.join_patience_s = static_cast<int>(options.join_patience.count());
  const auto own = SocketFolder::NewPathBelow(options.sockets_in);
  agents_.sockets = SocketFolder::ForNodes(own);
  agents_.key_file = options.key_folder / fmt::format(".{}.key", own.filename().string());
  auto listeners = staging::ListenOn({options.host, 0});
  agents_.manager = AddressesOf(listeners);
  GroupKey::Create(agents_.key_file);
  service_ = std::make_unique<Service>(agents_, options, std::move(listeners));
}

Nodes::~Nodes() { Leave(); }

void Nodes::Leave() {
  service_.reset();
  std::error_code ignored;
  fs::remove(agents_.key_file, ignored);
}

bool Nodes::AwaitJoined(std::chrono::milliseconds limit) { return service_->AwaitJoined(limit); }
std::string Nodes::Missing() const { return service_->Missing(); }
NodeFacts Nodes::FactsOf(int node) const { return service_->FactsOf(node); }
std::string Nodes::TroubleOf(int node) const { return service_->TroubleOf(node); }

UniqueFd Nodes::OpenSupervisor(int node) { return service_->Start(node, NodeFrame::kSupervise); }

std::filesystem::path Nodes::NewMonitorPath() { return agents_.sockets / fmt::format("watch-{}", next_listener_++); }

UniqueFd Nodes::OpenMonitor(int node, const std::filesystem::path& path) {
  return service_->Start(node, NodeFrame::kWatch, path.filename());
}

UniqueFd Nodes::OpenGpuMeter(int node, const std::vector<std::string>& arguments) {
  std::string text;
  for (const auto& argument : arguments) text += argument + '\0';
  return service_->Start(node, NodeFrame::kMeasure, text);
}

void Nodes::GiveUpIfHeld(int node) { service_->GiveUpIfHeld(node); }

void Nodes::KillGroup(int node, pid_t group) { service_->Tell(node, NodeFrame::kEndGroup, std::to_string(group)); }

std::unique_ptr<ShimListener> Nodes::OpenShimListener(EventLoop& loop, std::vector<int> nodes,
                                                      ShimListener::Arrived arrived) {
  return std::make_unique<NodesListener>(loop, *this, fmt::format("listener-{}", next_listener_++), std::move(nodes),
                                         std::move(arrived));
}

}  // namespace slipway::launcher
