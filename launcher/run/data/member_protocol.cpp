#include "launcher/run/data/member_protocol.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/json_fields.h"

namespace slipway::staging {

/// As HOST:PORT, with all others of the same node behind the first.
void WriteValue(Json& place, const NodeAddress& address) {
  place = Json{{"at", Json::array({TextOf(address)})}, {"name", address.name}};
  for (const auto& other : address.more) place["at"].push_back(TextOf(other));
}

/// Errors: also Error(kUsage) when one is no HOST:PORT.
void ReadValue(const JsonPlace& place, NodeAddress& address) {
  std::vector<std::string> texts;
  std::string name;
  FieldReader read(place);
  read("at", texts);
  read("name", name);
  std::string lines;
  for (const auto& text : texts) lines += text + "\n";
  auto all = ParseNodes(lines, "a member's addresses");
  address = all.front();
  address.more.assign(all.begin() + 1, all.end());
  address.name = std::move(name);
}

}  // namespace slipway::staging

namespace slipway::launcher::member {
namespace {

const DocumentName kMemberMessage{"a message of the staging of a node", ErrorKind::kInternal};

}  // namespace

template <class Visitor, MaybeConst<Offer> Struct>
void Visit(Visitor& visit, Struct& offer) {
  visit("dataset", offer.dataset);
  visit("tier", offer.tier);
  visit("directory", offer.directory);
  visit("root", offer.root);
  visit("reason", offer.reason);
  visit("shared_out", offer.shared_out);
}

template <class Visitor, MaybeConst<TierOfDataset> Struct>
void Visit(Visitor& visit, Struct& what) {
  visit("dataset", what.dataset);
  visit("tier", what.tier);
}

template <class Visitor, MaybeConst<MemberHello> Struct>
void Visit(Visitor& visit, Struct& hello) {
  visit("pid", hello.pid);
  visit("address", hello.address);
  visit("offers", hello.offers);
}

template <class Visitor, MaybeConst<StageOrder> Struct>
void Visit(Visitor& visit, Struct& order) {
  visit("what", order.what);
  visit("number", order.number);
  visit("nodes", order.nodes);
}

template <class Visitor, MaybeConst<MemberReady> Struct>
void Visit(Visitor& visit, Struct& ready) {
  visit("dataset", ready.dataset);
  visit("adopted", ready.adopted);
  visit("read", ready.read);
  visit("directory", ready.directory);
  visit("records", ready.records);
  visit("unread", ready.unread);
}

Json ToJson(const TierOfDataset& what) { return WriteFields(what); }
Json ToJson(const MemberHello& hello) { return WriteFields(hello); }
Json ToJson(const StageOrder& order) { return WriteFields(order); }
Json ToJson(const MemberReady& ready) { return WriteFields(ready); }

TierOfDataset TierOfDatasetFromJson(const Json& json) { return ReadFields<TierOfDataset>(json, kMemberMessage); }
MemberHello HelloFromJson(const Json& json) { return ReadFields<MemberHello>(json, kMemberMessage); }
StageOrder OrderFromJson(const Json& json) { return ReadFields<StageOrder>(json, kMemberMessage); }
MemberReady ReadyFromJson(const Json& json) { return ReadFields<MemberReady>(json, kMemberMessage); }

}  // namespace slipway::launcher::member
