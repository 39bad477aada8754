/// One node's staging member, as the manager of the run sees it.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "core/message_channel.h"
#include "launcher/ranks/local/supervisor.h"
#include "launcher/ranks/nodes/nodes.h"
#include "launcher/run/data/member_protocol.h"

namespace slipway::launcher {

/// Not movable: the event loop holds its address. All calls from the loop's thread.
class NodeMember {
 public:
  /// `failed` is called once for each Start at most: what it was told cannot be done, or it has ended unasked.
  NodeMember(EventLoop& loop, Nodes& nodes, int node, std::function<void()> failed);
  NodeMember(const NodeMember&) = delete;
  NodeMember& operator=(const NodeMember&) = delete;

  int node() const { return node_; }
  /// "n1".
  std::string name() const { return nodes_.FactsOf(node_).name; }

  /// Starts the process, or starts it anew. `log_directory` gets what it prints. Errors: Error(kEnvironment) when it
  /// cannot.
  void Start(std::vector<std::string> command, const std::filesystem::path& log_directory);
  /// The process has connected to the manager. When the connection ends, the process has to end, too.
  void Arrive(UniqueFd socket);
  /// Said as soon as it has introduced itself and is done with the orders before.
  void Order(member::StageOrder order);
  /// To be ended when it has let go, and of these datasets nothing is left that was for this run only. One that has
  /// ended before is started anew for it; one that ends before it has let go, once.
  void Release(const std::vector<member::TierOfDataset>& datasets);
  /// SIGTERM, after the grace time SIGKILL.
  void Stop();

  bool running() const { return running_; }
  const std::optional<member::MemberHello>& hello() const { return hello_; }
  /// What it holds, by dataset.
  const std::map<std::string, member::MemberReady>& ready() const { return ready_; }
  Bytes done() const { return done_; }
  /// Why it is of no use any more, naming the node.
  const std::optional<Error>& failure() const { return failure_; }
  /// The node is gone, and everything there with it.
  bool lost() const { return !nodes_.TroubleOf(node_).empty(); }
  /// What it could not remove, in words; of one that was released and has ended.
  const std::vector<std::string>& left() const { return left_; }

 private:
  void Run();
  void Take(std::string_view word, const Json& about);
  void SayNext();
  void SayRelease();
  void ReleaseByAnother();
  void EndProgram();
  void OnEnd(const SupervisedEnd& end);
  void Fail(Error error);

  EventLoop& loop_;
  Nodes& nodes_;
  int node_;
  std::function<void()> failed_;
  Supervisor supervisor_;
  std::uint64_t program_ = 0;
  bool running_ = false;
  std::optional<std::vector<member::TierOfDataset>>
      release_;                  ///< the datasets that it is told, or to be told, to let go
  bool may_start_again_ = true;  ///< for the release
  bool let_go_ = false;
  std::vector<std::string> command_;
  std::filesystem::path log_;
  std::unique_ptr<MessageChannel> channel_;
  std::deque<member::StageOrder> orders_;
  bool busy_ = false;
  std::optional<member::MemberHello> hello_;
  std::map<std::string, member::MemberReady> ready_;
  Bytes done_;
  std::optional<Error> failure_;
  std::vector<std::string> left_;
};

}  // namespace slipway::launcher
