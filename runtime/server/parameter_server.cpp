#include "runtime/server/parameter_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/exchange/shares.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

Shard OwnShard(const ServerParts& parts, const Communicator& communicator) {
  auto layout = LayoutOfShard(parts.parameters, communicator.size(), communicator.rank());
  return Shard(std::move(layout), parts.parameters, communicator.size(), parts.staleness);
}

}  // namespace

void RequireRate(double rate) {
  if (std::isfinite(rate) && rate >= 0) return;
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the learning rate is {}, not a number from 0", rate));
}

ParameterServer::ParameterServer(ServerParts parts, std::unique_ptr<Communicator> communicator, Watch& watch)
    : parts_(std::move(parts)),
      communicator_(std::move(communicator)),
      watch_(watch),
      table_number_(watch.AddTeam(parts_.name)),
      block_(*communicator_),
      own_(OwnShard(parts_, *communicator_), *communicator_) {
  for (int rank = 0; rank < communicator_->size(); ++rank) {
    auto layout = LayoutOfShard(parts_.parameters, communicator_->size(), rank);
    Frame frame(layout.bytes);
    links_.push_back({std::move(layout), std::move(frame)});
  }
}

void ParameterServer::RequireFitting(std::span<const TensorInfo> gradients) const {
  const auto& parameters = parts_.parameters;
  const auto refuse = [&](const std::string& message) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("parameter server '{}': {}", parts_.name, message));
  };
  if (gradients.size() != parameters.size()) {
    refuse(fmt::format("{} gradients for {} parameters", gradients.size(), parameters.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto given = gradients[i].Describe();
    const auto wanted = parameters[i].Describe();
    if (given != wanted) refuse(fmt::format("gradient {} is '{}', but the parameter is '{}'", i, given, wanted));
  }
}

void ParameterServer::SetRate(double rate) {
  RequireRate(rate);
  parts_.rate = rate;
}

void ParameterServer::Push(std::span<const TensorInfo> gradients) {
  const Watch::Operation operation(watch_, Activity::kServerPush, table_number_);
  RequireFitting(gradients);
  for (auto& link : links_) GatherShard(link.layout, gradients, link.frame.elements());
  Ask(Request::Kind::kPush);
  watch_.StepDone();
}

void ParameterServer::Pull() {
  const Watch::Operation operation(watch_, Activity::kServerPull, table_number_);
  const Waiter waiter(watch_, Waiter::Manner::kForeground, true);
  for (const auto& parameter : parts_.parameters) AwaitManaged(parameter.data, nullptr, waiter);
  Ask(Request::Kind::kPull);
  lead_ = 0;
  for (auto& link : links_) {
    ScatterShard(link.layout, link.frame.elements(), parts_.parameters);
    lead_ = std::max(lead_, link.frame.Read<Answer>().lead);
  }
}

/// Asks all servers, and returns when all have answered.
void ParameterServer::Ask(Request::Kind kind) {
  if (links_.size() == 1) {
    AskMyself(kind);
  } else {
    own_.RequireAlive();
    Exchange(kind);
  }
  for (auto& link : links_) RequireTaken(InOf(link, kind).Read<Answer>());
}

void ParameterServer::AskMyself(Request::Kind kind) {
  auto& link = links_.front();
  link.frame.Write(Request{kind, parts_.rate});
  own_.Reply(0, link.frame);
  InOf(link, kind).Write(link.frame.Read<Answer>());
}

void ParameterServer::Exchange(Request::Kind kind) {
  std::vector<MPI_Request> requests(2 * links_.size(), MPI_REQUEST_NULL);
  for (std::size_t server = 0; server < links_.size(); ++server) {
    auto& in = InOf(links_[server], kind);
    auto& out = OutOf(links_[server], kind);
    out.Write(Request{kind, parts_.rate});
    const int to = static_cast<int>(server);
    const auto comm = communicator_->handle();
    CheckMpi(MPI_Irecv(in.blocks(), in.count(), block_.get(), to, kAnswerTag, comm, &requests[server]),
             "waiting for a server");
    CheckMpi(
        MPI_Isend(out.blocks(), out.count(), block_.get(), to, kRequestTag, comm, &requests[links_.size() + server]),
        "asking a server");
  }
  communicator_->Complete(requests, [&] { return Missing({requests.data(), links_.size()}); });
}

/// The ranks that this one waits for. Every server learns the same of each rank, sooner or later, so this rank's own
/// server knows which ranks are behind. If none is, this rank waits for the servers themselves.
std::vector<int> ParameterServer::Missing(std::span<MPI_Request> answers) {
  own_.RequireAlive();
  auto missing = own_.Behind(communicator_->rank());
  if (!missing.empty()) return missing;
  for (std::size_t server = 0; server < answers.size(); ++server) {
    int here = 0;
    CheckMpi(MPI_Request_get_status(answers[server], &here, MPI_STATUS_IGNORE), "MPI_Request_get_status");
    if (here == 0) missing.push_back(static_cast<int>(server));
  }
  return missing;
}

void ParameterServer::RequireTaken(const Answer& answer) const {
  if (answer.status == SLIPWAY_OK) return;
  throw PartedError(static_cast<slipway_status>(answer.status),
                    fmt::format("parameter server '{}': {}", parts_.name, answer.message));
}

}  // namespace slipway::runtime
