/// How two nodes prove to each other that they hold the group's key. Pure: bytes in, bytes out.
///
///   connecting node                      accepting node
///   Hello: version, who, nonce  ------>
///                               <------  Answer: version, who, nonce, proof over Hello and Answer
///   Confirm: proof over both    ------>
///
/// Both nonces go into both proofs and into the two session keys. So nothing of one connection is valid on another. All
/// messages have a fixed size: no length needs to be trusted before the proof.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "staging/network/group_key.h"

namespace slipway::staging {

inline constexpr std::uint32_t kNetworkVersion = 1;
inline constexpr std::size_t kHelloBytes = 8 + 4 * 4 + 32 + 32;
inline constexpr std::size_t kAnswerBytes = kHelloBytes + 32;
inline constexpr std::size_t kConfirmBytes = 32;

/// As the node that an acceptor expects: whichever of the others connects.
inline constexpr std::uint32_t kAnyNode = 0xffff'ffff;

struct Introduction {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t nodes = 0;
  Digest plan{};  ///< of everything that must be the same on all nodes
  Digest nonce{};
};

struct SessionKeys {
  GroupKey from_connector;
  GroupKey from_acceptor;
};

class ConnectorHandshake {
 public:
  ConnectorHandshake(const GroupKey& key, Introduction own);
  const std::string& hello() const { return hello_; }
  /// The Confirm to send, or nothing with refusal() set. The plans may differ: see peer().
  std::optional<std::string> Accept(std::string_view answer);
  const std::string& refusal() const { return refusal_; }
  const Introduction& peer() const { return peer_; }
  SessionKeys Keys() const;

 private:
  std::optional<std::string> Refuse(std::string reason);

  const GroupKey key_;
  const Introduction own_;
  const std::string hello_;
  std::string transcript_;
  Introduction peer_;
  std::string refusal_;
};

class AcceptorHandshake {
 public:
  /// `own.from` is this node, `own.to` the node that is expected to connect, or kAnyNode.
  AcceptorHandshake(const GroupKey& key, Introduction own);
  /// The Answer to send, or nothing with refusal() set.
  std::optional<std::string> Accept(std::string_view hello);
  /// True when the other side has the key.
  bool Confirm(std::string_view confirm);
  const std::string& refusal() const { return refusal_; }
  const Introduction& peer() const { return peer_; }
  SessionKeys Keys() const;

 private:
  const GroupKey key_;
  Introduction own_;
  std::string transcript_;
  Introduction peer_;
  std::string refusal_;
};

}  // namespace slipway::staging
