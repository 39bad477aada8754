/// The protocol between the manager of a run and its staging members.
///
/// A member is one process per node, `slipway stage-member`, started through that node's agent. It carries out the
/// manager's orders to stage datasets into the tiers of its node, together with the members of other nodes. It holds
/// the datasets until their release.
///
/// Each message is a line over a stream socket: a word, a space and a JSON object.
///
/// ```
///   member -> manager   hello     first: MemberHello
///                       progress  `done` and `total` in bytes; about twice a second while it stages
///                       ready     MemberReady: the dataset is published there, and held
///                       failed    ErrorToJson: an order cannot be carried out
///                       gone      last: `left`, one text for each copy that it could not remove
///   manager -> member   stage     StageOrder; one at a time
///                       release   end what is in progress, release the leases, remove what was for this run only,
///                                 also of `datasets` (TierOfDataset) that an earlier member had staged
/// ```
///
/// The end of the socket has the effect of `release`: nothing stays behind after a manager was killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/units.h"
#include "staging/network/node_group.h"

namespace slipway::launcher::member {

inline constexpr char kHello[] = "hello";
inline constexpr char kProgress[] = "progress";
inline constexpr char kReady[] = "ready";
inline constexpr char kFailed[] = "failed";
inline constexpr char kGone[] = "gone";
inline constexpr char kStage[] = "stage";
inline constexpr char kRelease[] = "release";

/// A place where a member could stage a dataset, as it sees its node.
struct Offer {
  std::string dataset;
  std::string tier;
  std::filesystem::path directory;
  /// Identifies the tier's root: the same text on two nodes means the same directory. Empty where members stage
  /// nothing.
  std::string root = {};
  std::string reason = {};      ///< why it can not; empty when it can
  std::string shared_out = {};  ///< for shares: identifies the set of files that is shared out
};

struct MemberHello {
  std::int64_t pid = 0;
  staging::NodeAddress address;  ///< the other addresses are in
  std::vector<Offer> offers;     ///< for each dataset its tiers, in the order of preference
};

/// A dataset, and the tier that all nodes have agreed on.
struct TierOfDataset {
  std::string dataset;
  std::string tier;
};

struct StageOrder {
  TierOfDataset what;
  std::uint32_t number = 0;                 ///< the member's place in `nodes`
  std::vector<staging::NodeAddress> nodes;  ///< all members that stage it together
};

struct MemberReady {
  std::string dataset;
  bool adopted = false;
  Bytes read;                       ///< from the sources
  std::filesystem::path directory;  ///< the directory for the ranks of its node
  std::uint64_t records = 0;        ///< of a share: the records that a reader finds
  /// DescribeUnread of each dataset whose own checksums could not be compared.
  std::vector<std::string> unread = {};
};

/// Conversions to JSON and back. Errors of the way back: DocumentError.
Json ToJson(const TierOfDataset& what);
TierOfDataset TierOfDatasetFromJson(const Json& json);
Json ToJson(const MemberHello& hello);
MemberHello HelloFromJson(const Json& json);
Json ToJson(const StageOrder& order);
StageOrder OrderFromJson(const Json& json);
Json ToJson(const MemberReady& ready);
MemberReady ReadyFromJson(const Json& json);

}  // namespace slipway::launcher::member
