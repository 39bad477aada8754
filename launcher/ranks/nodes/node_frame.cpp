#include "launcher/ranks/nodes/node_frame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "staging/network/wire.h"

namespace slipway::launcher {

using staging::Digest;
using staging::GroupKey;
using staging::ViewOf;
using staging::WireReader;
using staging::WireWriter;

namespace {

constexpr std::size_t kFieldBytes = 1 + 4 + 4;
constexpr std::size_t kHeaderBytes = kFieldBytes + sizeof(Digest);

Digest ProofOf(const GroupKey& key, std::uint64_t number, std::string_view fields, std::string_view payload) {
  const auto counted = WireWriter().Number(number).bytes();
  return key.Prove({ViewOf(counted), ViewOf(fields), ViewOf(payload)});
}

bool IsKind(std::uint8_t value) {
  return value >= static_cast<std::uint8_t>(NodeFrame::kJoin) &&
         value <= static_cast<std::uint8_t>(NodeFrame::kMeasure);
}

std::vector<int> Cores(const std::string& list) {
  std::istringstream numbers(list);
  std::vector<int> cores;
  for (int core = 0; numbers >> core; numbers.ignore(1)) cores.push_back(core);
  return cores;
}

}  // namespace

std::string NodeFrameSealer::Seal(NodeFrame kind, std::uint32_t stream, std::string_view payload) {
  WireWriter writer;
  writer.Number(static_cast<std::uint8_t>(kind)).Number(stream).Number(static_cast<std::uint32_t>(payload.size()));
  const auto proof = ProofOf(key_, frames_++, writer.bytes(), payload);
  return writer.Array8(proof).Raw(payload).bytes();
}

std::optional<NodeMessage> NodeFrameOpener::Next() {
  if (forged_ || received_.size() < kHeaderBytes) return {};
  WireReader reader(std::string_view(received_).substr(0, kHeaderBytes));
  const auto kind = reader.Number<std::uint8_t>();
  const auto stream = reader.Number<std::uint32_t>();
  const auto length = reader.Number<std::uint32_t>();
  Digest proof{};
  reader.Array8(proof);
  forged_ = !IsKind(kind) || length > kLongestNodePayload;
  if (forged_ || received_.size() < kHeaderBytes + length) return {};
  NodeMessage message{static_cast<NodeFrame>(kind), stream, received_.substr(kHeaderBytes, length)};
  const auto fields = std::string_view(received_).substr(0, kFieldBytes);
  forged_ = !staging::SameDigest(proof, ProofOf(key_, frames_++, fields, message.payload));
  if (forged_) return {};
  received_.erase(0, kHeaderBytes + length);
  return message;
}

std::string TextOf(const NodeFacts& facts) {
  auto text =
      fmt::format("{} {} {}", facts.name, facts.own_cores ? kOwnCores : kSharedCores, fmt::join(facts.cores, ","));
  for (const auto& [name, value] : VariablesFor(facts.devices)) text += fmt::format(" {}={}", name, value);
  if (!facts.devices.counted.empty()) text += fmt::format(" {}", kCountsInsideRocr);
  if (facts.names_devices) text += fmt::format(" {}", kNamedGpus);
  return text;
}

NodeFacts ParseFacts(const std::string& text) {
  std::istringstream words(text);
  NodeFacts facts;
  std::string whose;
  words >> facts.name >> whose;
  facts.own_cores = whose == kOwnCores;
  Environment devices;
  auto numbers = DeviceNumbers::kOfNode;
  for (std::string word; words >> word;) {
    const auto sign = word.find('=');
    if (word == kCountsInsideRocr) {
      numbers = DeviceNumbers::kInsideRocr;
    } else if (word == kNamedGpus) {
      facts.names_devices = true;
    } else if (sign == std::string::npos) {
      facts.cores = Cores(word);
    } else {
      devices.Set(word.substr(0, sign), word.substr(sign + 1));
    }
  }
  facts.devices = DevicesNamedIn(devices, numbers);
  return facts;
}

}  // namespace slipway::launcher
