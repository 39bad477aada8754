#include "launcher/run/data/member_protocol.h"

#include <nlohmann/json.hpp>

namespace slipway::launcher::member {
namespace {

using staging::NodeAddress;

Json AddressToJson(const NodeAddress& address) {
  Json json{{"at", Json::array({staging::TextOf(address)})}, {"name", address.name}};
  for (const auto& other : address.more) json["at"].push_back(staging::TextOf(other));
  return json;
}

/// Errors: Error(kUsage) when one is no HOST:PORT.
NodeAddress AddressFromJson(const Json& json) {
  std::string lines;
  for (const auto& text : json.at("at")) lines += text.get<std::string>() + "\n";
  auto all = staging::ParseNodes(lines, "a member's addresses");
  auto address = all.front();
  address.more.assign(all.begin() + 1, all.end());
  address.name = json.at("name").get<std::string>();
  return address;
}

Json ToJson(const Offer& offer) {
  return {{"dataset", offer.dataset}, {"tier", offer.tier},     {"directory", offer.directory.string()},
          {"root", offer.root},       {"reason", offer.reason}, {"shared_out", offer.shared_out}};
}

Offer OfferFromJson(const Json& json) {
  return {json.at("dataset").get<std::string>(),   json.at("tier").get<std::string>(),
          json.at("directory").get<std::string>(), json.at("root").get<std::string>(),
          json.at("reason").get<std::string>(),    json.at("shared_out").get<std::string>()};
}

}  // namespace

Json ToJson(const TierOfDataset& what) { return {{"dataset", what.dataset}, {"tier", what.tier}}; }

TierOfDataset TierOfDatasetFromJson(const Json& json) {
  return {json.at("dataset").get<std::string>(), json.at("tier").get<std::string>()};
}

Json ToJson(const MemberHello& hello) {
  Json json{{"pid", hello.pid}, {"address", AddressToJson(hello.address)}, {"offers", Json::array()}};
  for (const auto& offer : hello.offers) json["offers"].push_back(ToJson(offer));
  return json;
}

MemberHello HelloFromJson(const Json& json) {
  MemberHello hello;
  hello.pid = json.at("pid").get<std::int64_t>();
  hello.address = AddressFromJson(json.at("address"));
  for (const auto& offer : json.at("offers")) hello.offers.push_back(OfferFromJson(offer));
  return hello;
}

Json ToJson(const StageOrder& order) {
  Json json{{"what", ToJson(order.what)}, {"number", order.number}, {"nodes", Json::array()}};
  for (const auto& node : order.nodes) json["nodes"].push_back(AddressToJson(node));
  return json;
}

StageOrder OrderFromJson(const Json& json) {
  StageOrder order;
  order.what = TierOfDatasetFromJson(json.at("what"));
  order.number = json.at("number").get<std::uint32_t>();
  for (const auto& node : json.at("nodes")) order.nodes.push_back(AddressFromJson(node));
  return order;
}

Json ToJson(const MemberReady& ready) {
  return {{"dataset", ready.dataset}, {"adopted", ready.adopted},
          {"read", ready.read.count}, {"directory", ready.directory.string()},
          {"records", ready.records}, {"unread", ready.unread}};
}

MemberReady ReadyFromJson(const Json& json) {
  return {json.at("dataset").get<std::string>(),       json.at("adopted").get<bool>(),
          Bytes{json.at("read").get<std::uint64_t>()}, json.at("directory").get<std::string>(),
          json.at("records").get<std::uint64_t>(),     json.at("unread").get<std::vector<std::string>>()};
}

Json ErrorToJson(const Error& error) {
  return {{"kind", static_cast<int>(error.kind())},
          {"message", error.message()},
          {"context", error.context()},
          {"next_step", error.next_step()}};
}

Error ErrorFromJson(const Json& json) {
  Error error(static_cast<ErrorKind>(json.at("kind").get<int>()), json.at("message").get<std::string>(),
              json.at("next_step").get<std::string>());
  for (const auto& line : json.at("context")) error.AddContext(line.get<std::string>());
  return error;
}

}  // namespace slipway::launcher::member
