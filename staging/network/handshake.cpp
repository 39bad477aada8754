#include "staging/network/handshake.h"

#include <fmt/format.h>

#include "staging/network/wire.h"

namespace slipway::staging {
namespace {

constexpr std::string_view kHandshakeMagic = "SlipwayN";

std::string Encode(const Introduction& who) {
  WireWriter writer;
  writer.Raw(kHandshakeMagic).Number(kNetworkVersion).Number(who.from).Number(who.to).Number(who.nodes);
  return writer.Array8(who.plan).Array8(who.nonce).bytes();
}

/// What speaks against an introduction, or "".
std::string Decode(std::string_view bytes, const Introduction& own, Introduction& who) {
  if (bytes.substr(0, kHandshakeMagic.size()) != kHandshakeMagic) return "does not speak this protocol";
  WireReader reader(bytes.substr(kHandshakeMagic.size()));
  const auto version = reader.Number<std::uint32_t>();
  who.from = reader.Number<std::uint32_t>();
  who.to = reader.Number<std::uint32_t>();
  who.nodes = reader.Number<std::uint32_t>();
  reader.Array8(who.plan);
  reader.Array8(who.nonce);
  if (!reader.good()) return "sent a message that is too short";
  if (version != kNetworkVersion) return fmt::format("speaks version {}, here is version {}", version, kNetworkVersion);
  if (who.nodes != own.nodes) return fmt::format("has a list of {} nodes, here are {}", who.nodes, own.nodes);
  const bool expected = own.to == kAnyNode ? who.from < own.nodes : who.from == own.to;
  if (!expected || who.to != own.from) {
    return fmt::format("is node {} looking for node {}, here node {} expects node {}", who.from, who.to, own.from,
                       own.to);
  }
  return {};
}

Digest Proof(const GroupKey& key, std::string_view role, std::string_view transcript) {
  return key.Prove({ViewOf(role), ViewOf(transcript)});
}

bool Proves(const GroupKey& key, std::string_view role, std::string_view transcript, std::string_view proof) {
  WireReader reader(proof);
  Digest given{};
  reader.Array8(given);
  return reader.good() && SameDigest(given, Proof(key, role, transcript));
}

SessionKeys KeysFor(const GroupKey& key, std::string_view transcript) {
  return {key.Derive("frames of the connecting node", ViewOf(transcript)),
          key.Derive("frames of the accepting node", ViewOf(transcript))};
}

constexpr std::string_view kAcceptorProof = "proof of the accepting node  ";
constexpr std::string_view kConnectorProof = "proof of the connecting node ";
constexpr std::string_view kNoProof = "does not hold the group's key";

}  // namespace

ConnectorHandshake::ConnectorHandshake(const GroupKey& key, Introduction own)
    : key_(key), own_(own), hello_(Encode(own_)) {}

std::optional<std::string> ConnectorHandshake::Refuse(std::string reason) {
  refusal_ = std::move(reason);
  return {};
}

std::optional<std::string> ConnectorHandshake::Accept(std::string_view answer) {
  if (answer.size() != kAnswerBytes) return Refuse("sent a message that is too short");
  const auto introduction = answer.substr(0, kHelloBytes);
  if (auto wrong = Decode(introduction, own_, peer_); !wrong.empty()) return Refuse(std::move(wrong));
  transcript_ = hello_ + std::string(introduction);
  if (!Proves(key_, kAcceptorProof, transcript_, answer.substr(kHelloBytes))) return Refuse(std::string(kNoProof));
  return WireWriter().Array8(Proof(key_, kConnectorProof, transcript_)).bytes();
}

SessionKeys ConnectorHandshake::Keys() const { return KeysFor(key_, transcript_); }

AcceptorHandshake::AcceptorHandshake(const GroupKey& key, Introduction own) : key_(key), own_(own) {}

std::optional<std::string> AcceptorHandshake::Accept(std::string_view hello) {
  refusal_ = hello.size() == kHelloBytes ? Decode(hello, own_, peer_) : "sent a message that is too short";
  if (!refusal_.empty()) return {};
  own_.to = peer_.from;
  const auto introduction = Encode(own_);
  transcript_ = std::string(hello) + introduction;
  return introduction + WireWriter().Array8(Proof(key_, kAcceptorProof, transcript_)).bytes();
}

bool AcceptorHandshake::Confirm(std::string_view confirm) {
  if (Proves(key_, kConnectorProof, transcript_, confirm)) return true;
  refusal_ = kNoProof;
  return false;
}

SessionKeys AcceptorHandshake::Keys() const { return KeysFor(key_, transcript_); }

}  // namespace slipway::staging
