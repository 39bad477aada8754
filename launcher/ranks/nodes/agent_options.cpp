#include "launcher/ranks/nodes/agent_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/install.h"
#include "core/lines.h"
#include "core/text.h"
#include "launcher/ranks/nodes/protocol.h"

namespace slipway::launcher {
namespace {

constexpr const char* kUsage =
    "slipway-agent --manager ADDRESS:PORT[,...] --key FILE --nodes N --sockets FOLDER --run NAME [--join-patience S]; "
    "it "
    "is started by slipway, not by hand";

int NumberOf(const std::string& word, const std::string& value) {
  int number = 0;
  if (ParseNumber(value, number) && number > 0) return number;
  throw Error(ErrorKind::kUsage, fmt::format("{} needs a number above 0, not '{}'", word, value), kUsage);
}

std::vector<staging::NodeAddress> AddressesOf(std::string value) {
  std::replace(value.begin(), value.end(), ',', '\n');
  return staging::ParseNodes(value, "--manager");
}

void Take(const std::string& word, const std::string& value, AgentOptions& options) {
  if (word == "--manager") {
    options.manager = AddressesOf(value);
  } else if (word == "--key") {
    options.key_file = value;
  } else if (word == "--nodes") {
    options.nodes = NumberOf(word, value);
  } else if (word == "--sockets") {
    options.sockets = value;
  } else if (word == "--run") {
    options.run = value;
  } else if (word == "--join-patience") {
    options.join_patience_s = NumberOf(word, value);
  } else {
    throw Error(ErrorKind::kUsage, fmt::format("unknown option '{}'", word), kUsage);
  }
}

}  // namespace

std::vector<std::string> AgentCommand(const AgentOptions& options) {
  return {HelperProgram("slipway-agent"),
          "--manager",
          JoinEach(options.manager, ",", [](const auto& address) { return staging::TextOf(address); }),
          "--key",
          options.key_file,
          "--nodes",
          std::to_string(options.nodes),
          "--sockets",
          options.sockets,
          "--run",
          options.run,
          "--join-patience",
          std::to_string(options.join_patience_s)};
}

AgentOptions ParseAgentCommand(const std::vector<std::string>& words) {
  AgentOptions options;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    if (i + 1 == words.size()) {
      throw Error(ErrorKind::kUsage, fmt::format("'{}' needs a value", words[i]), kUsage);
    }
    Take(words[i], words[i + 1], options);
  }
  if (options.manager.empty() || options.key_file.empty() || options.sockets.empty() || options.run.empty()) {
    throw Error(ErrorKind::kUsage, "an option is missing", kUsage);
  }
  return options;
}

staging::Introduction IntroductionOf(const AgentOptions& options, std::uint32_t from, std::uint32_t to) {
  return {from, to, static_cast<std::uint32_t>(options.nodes) + 1,
          staging::DigestOf(fmt::format("agents of a run, version {}: {}", kNodeProtocol, options.run)),
          staging::RandomDigest()};
}

}  // namespace slipway::launcher
