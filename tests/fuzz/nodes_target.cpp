#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/ranks/nodes/node_frame.h"
#include "runtime/watch/rank_status.h"
#include "staging/network/wire.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

using launcher::kLongestNodePayload;
using launcher::NodeFrame;
using launcher::NodeFrameOpener;
using launcher::NodeFrameSealer;
using launcher::NodeMessage;

/// That of the seeds, so that inputs can be put together that hold a right proof.
const staging::GroupKey& NodesKey() {
  static const staging::GroupKey key{staging::Digest{1}};
  return key;
}

std::vector<NodeMessage> AllOf(NodeFrameOpener& opener) {
  std::vector<NodeMessage> messages;
  while (auto message = opener.Next()) messages.push_back(std::move(*message));
  return messages;
}

/// What comes out of a connection is a beginning of what its other side can have sent.
void TryConnection(std::string_view bytes, std::size_t border) {
  NodeFrameOpener whole(NodesKey());
  whole.Add(bytes);
  const auto messages = AllOf(whole);
  std::string sent;
  NodeFrameSealer sealer(NodesKey());
  for (const auto& message : messages) sent += sealer.Seal(message.kind, message.stream, message.payload);
  FuzzRequire(bytes.starts_with(sent), "only what was sealed comes out");

  NodeFrameOpener torn(NodesKey());
  torn.Add(bytes.substr(0, border % (bytes.size() + 1)));
  auto count = AllOf(torn).size();
  torn.Add(bytes.substr(border % (bytes.size() + 1)));
  count += AllOf(torn).size();
  FuzzRequire(count == messages.size() && torn.forged() == whole.forged(), "the borders of the pieces change nothing");
}

void TryFrame(std::uint8_t kind, std::uint32_t stream, std::string_view payload, std::size_t changed) {
  payload = payload.substr(0, kLongestNodePayload);
  auto wire = NodeFrameSealer(NodesKey()).Seal(static_cast<NodeFrame>(kind), stream, payload);
  NodeFrameOpener opener(NodesKey());
  opener.Add(wire);
  const auto opened = opener.Next();
  const bool known = kind >= 1 && kind <= static_cast<std::uint8_t>(NodeFrame::kMeasure);
  FuzzRequire(opened.has_value() == known, "a frame of a known kind comes out, and no other");
  FuzzRequire(!opened || (opened->stream == stream && opened->payload == payload), "as it went in");
  opener.Add(wire);
  FuzzRequire(!opener.Next(), "it does not come out a second time");

  wire[changed % wire.size()] = static_cast<char>(wire[changed % wire.size()] ^ 1);
  NodeFrameOpener other(NodesKey());
  other.Add(wire);
  FuzzRequire(!other.Next(), "a changed frame is refused");
}

/// Whatever a program has written on its board can be told, and what was told can be told again.
void TryBoard(std::string_view bytes) {
  runtime::RankStatusRow line;
  std::memcpy(static_cast<void*>(&line), bytes.data(), std::min(bytes.size(), sizeof line));
  for (auto& team : line.teams) team.back() = '\0';
  line.process = 1;
  const auto told = ToJson(std::vector{runtime::RankStatusOf(line, {"host", 1})})
                        .dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto heard = ToJson(runtime::RankStatusesFromJson(Json::parse(told)));
  FuzzRequire(heard.dump(-1, ' ', false, Json::error_handler_t::replace) == told, "a sight travels");
}

void TryRankStatus(std::string_view text) {
  const auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return;
  try {
    const auto sight = ToJson(runtime::RankStatusesFromJson(json));
    FuzzRequire(ToJson(runtime::RankStatusesFromJson(sight)) == sight, "a status that was heard can be told");
  } catch (const Error&) {
    // As good as an error that says something: the connection ends with it.
  }
}

}  // namespace

void FuzzNodes(Input input) {
  const auto text = AsText(input);
  staging::WireReader reader(text);
  const auto kind = reader.Number<std::uint8_t>();
  const auto stream = reader.Number<std::uint32_t>();
  const auto changed = reader.Number<std::uint16_t>();
  TryFrame(kind, stream, reader.rest(), changed);
  TryConnection(text, changed);
  TryBoard(text);
  TryRankStatus(text);
  const auto facts = launcher::ParseFacts(std::string(text));
  const auto again = launcher::ParseFacts(TextOf(facts));
  FuzzRequire(again.cores == facts.cores && again.names_devices == facts.names_devices &&
                  VariablesFor(again.devices) == VariablesFor(facts.devices),
              "what a node says of itself is understood");
}

}  // namespace slipway::fuzz
