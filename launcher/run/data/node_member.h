/// The manager's view of one node's staging member.
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

/// Not movable: the event loop holds its address. Call it only from the loop's thread.
class NodeMember {
 public:
  /// `failed` is called at most once for each Start: an order cannot be carried out, or the process ended unexpectedly.
  NodeMember(EventLoop& loop, Nodes& nodes, int node, std::function<void()> failed);
  NodeMember(const NodeMember&) = delete;
  NodeMember& operator=(const NodeMember&) = delete;

  int node() const { return node_; }
  /// "n1".
  std::string name() const { return nodes_.FactsOf(node_).name; }

  /// Starts or restarts the process. `log_directory` gets its output. Errors: Error(kEnvironment).
  void Start(std::vector<std::string> command, const std::filesystem::path& log_directory);
  /// The process has connected to the manager. When the connection ends, the process is ended, too.
  void Arrive(UniqueFd socket);
  /// Queues an order. It is sent once the process has introduced itself and completed earlier orders.
  void Order(member::StageOrder order);
  /// Orders the release of all that the process holds, and of what is left of `datasets` for this run only. Then the
  /// process ends. One that has already ended is restarted for this. One that ends before the release is complete is
  /// restarted once.
  void Release(const std::vector<member::TierOfDataset>& datasets);
  /// Sends SIGTERM, and SIGKILL after the grace time.
  void Stop();

  bool running() const { return running_; }
  const std::optional<member::MemberHello>& hello() const { return hello_; }
  /// The datasets that it holds, by name.
  const std::map<std::string, member::MemberReady>& ready() const { return ready_; }
  Bytes done() const { return done_; }
  /// Why it can no longer be used, naming the node.
  const std::optional<Error>& failure() const { return failure_; }
  /// The node is lost, with everything on it.
  bool lost() const { return !nodes_.TroubleOf(node_).empty(); }
  /// The copies that a released and ended member could not remove, in words.
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
      release_;                  ///< the datasets of the release, ordered or still to be ordered
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
