#include "tests/staging/network/group_support.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/network/group_key.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

sockaddr_in AddressOf(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

const sockaddr* Cast(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

}  // namespace

std::uint16_t FreePort(const std::string& host) {
  static std::mutex mutex;
  static std::vector<UniqueFd> reserved;
  UniqueFd fd(CheckErrno(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "cannot make a socket"));
  constexpr int kYes = 1;  // as the listeners that are to take it
  CheckErrno(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes), "cannot share a port");
  auto address = AddressOf(host, 0);
  CheckErrno(::bind(fd.get(), Cast(address), sizeof address), "cannot bind");
  socklen_t size = sizeof address;
  CheckErrno(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), "cannot ask for the port");
  const std::lock_guard lock(mutex);
  reserved.push_back(std::move(fd));
  return ntohs(address.sin_port);
}

UniqueFd ConnectTo(const NodeAddress& to) {
  UniqueFd fd(CheckErrno(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "cannot make a socket"));
  const auto address = AddressOf(to.host, to.port);
  CheckErrno(::connect(fd.get(), Cast(address), sizeof address), "cannot connect");
  return fd;
}

TestGroup::TestGroup(std::size_t nodes) {
  const auto key = directory_ / "key";
  GroupKey::Create(key);
  std::vector<NodeAddress> addresses;
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto host = "127.0.0." + std::to_string(i + 1);
    addresses.push_back({host, FreePort(host)});
  }
  for (std::uint32_t i = 0; i < nodes; ++i) {
    NodeGroup group{i, addresses, key};
    group.join_timeout = std::chrono::minutes(1);  // both end only what hangs
    group.stall_timeout = std::chrono::minutes(1);
    groups.push_back(group);
    MakeDirectories(tier(i));
    fs::permissions(tier(i), fs::perms::owner_all);
  }
  MakeDirectories(source());
}

StagingPlan TestGroup::Plan(std::size_t node, DataFormat format, VerifyMode verify) const {
  auto request = RequestFor(source(), tier(node), format);
  request.verify = verify;
  return PlanFor(request);
}

std::optional<std::vector<std::pair<std::string, std::string>>> TestGroup::Published(std::size_t node) const {
  const auto generations = GenerationsIn(tier(node));
  if (generations.size() != 1) return {};
  const auto directory = tier(node) / generations[0];
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& file : ParseManifest(ReadFile(directory / kManifestName)).files) {
    files.emplace_back(file.path, ReadFile(directory / file.path));
  }
  return files;
}

bool TestGroup::NothingAnywhere() const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (!GenerationsIn(tier(i)).empty()) return false;
  }
  return true;
}

std::vector<NodeResult> OnAll(std::size_t nodes, const NodeBody& body) {
  std::vector<NodeResult> results(nodes);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < nodes; ++i) {
    threads.emplace_back([&, i] {
      try {
        results[i].staged = body(i);
      } catch (const Error& error) {
        results[i].error = error.what();
      }
    });
  }
  threads.clear();
  return results;
}

std::vector<NodeResult> StageOnAll(const TestGroup& group, DataFormat format, const StageOptions& options) {
  return OnAll(group.size(), [&](std::size_t node) {
    return StageAcrossNodes(group.Plan(node, format), options, group.groups[node]);
  });
}

}  // namespace slipway::staging
