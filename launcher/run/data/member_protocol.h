/// What the manager of a run and its staging members say to each other.
///
/// A member is one process a node, `slipway stage-member`, started through that node's agent. It stages what it is told
/// to into the tiers of its node, together with the members of other nodes, and holds it until it is let go. Lines over
/// one stream socket, each a word, a space and a JSON object:
///
///   member -> manager   hello     first: MemberHello
///                       progress  `done` and `total` in bytes; about twice a second while it stages
///                       ready     MemberReady: the dataset is published there, and held
///                       failed    ErrorToJson: what it was told cannot be done
///                       gone      last: `left`, one text for each copy that it could not remove
///   manager -> member   stage     StageOrder; one at a time
///                       release   end what is under way, give the leases back, remove what was for this run only, also
///                                 of `datasets` (TierOfDataset) that a member before this one had staged
///
/// The end of the socket is as good as `release`: nothing stays behind a manager that was killed.
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

/// Where a member could stage a dataset, by its own look at its node.
struct Offer {
  std::string dataset;
  std::string tier;
  std::filesystem::path directory;
  /// Tells the tier's root from all others: the same text on two nodes means that they see the same directory. Empty
  /// where nothing is staged by members.
  std::string root = {};
  std::string reason = {};      ///< why it can not; empty when it can
  std::string shared_out = {};  ///< where each node holds a share: tells the files that are shared out from others
};

struct MemberHello {
  std::int64_t pid = 0;
  staging::NodeAddress address;  ///< with all others in `more`
  std::vector<Offer> offers;     ///< for each dataset its tiers, in the order of preference
};

/// A dataset in the tier that all nodes have agreed on.
struct TierOfDataset {
  std::string dataset;
  std::string tier;
};

struct StageOrder {
  TierOfDataset what;
  std::uint32_t number = 0;                 ///< the member's place in `nodes`
  std::vector<staging::NodeAddress> nodes;  ///< who stage it together
};

struct MemberReady {
  std::string dataset;
  bool adopted = false;
  Bytes read;                       ///< from the sources
  std::filesystem::path directory;  ///< where the ranks of its node find it
  std::uint64_t records = 0;        ///< of a share: what a reader finds there
  /// DescribeUnread of each dataset whose own checksums could not be compared.
  std::vector<std::string> unread = {};
};

/// What they make of each other can be taken apart again. Errors of the way back: DocumentError.
Json ToJson(const TierOfDataset& what);
TierOfDataset TierOfDatasetFromJson(const Json& json);
Json ToJson(const MemberHello& hello);
MemberHello HelloFromJson(const Json& json);
Json ToJson(const StageOrder& order);
StageOrder OrderFromJson(const Json& json);
Json ToJson(const MemberReady& ready);
MemberReady ReadyFromJson(const Json& json);

}  // namespace slipway::launcher::member
