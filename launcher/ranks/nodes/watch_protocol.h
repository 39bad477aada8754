/// What the manager of a job over several nodes and the monitor of the status tables on each node say to each other:
/// lines of a word, a space and a JSON object over a stream, see protocol.h.
///
///   monitor -> manager   asks    a rank has waited too long for others; again and again while it waits
///                       seen    `look`: the number of the question; `ranks`: a RankStatus of each rank of the node
///                       that is
///                               in slipway_init, or has been (runtime/watch/rank_status.h)
///                       departed
///                               `ranks`: a RankStatus of each rank of the node that has ended or is in
///                               slipway_finalize; said once of each
///   manager -> monitor   look    `look`: its number; answered by `seen`
///                       answer  `kind`, `message`, `ranks`: what watch.json will hold; for the ranks, which end with
///                       it
///                       departed
///                               the same, of other nodes; for the ranks that wait for one of these
///
/// The end of the stream ends the monitor.
#pragma once

namespace slipway::launcher::watch {

inline constexpr char kAsks[] = "asks";
inline constexpr char kSeen[] = "seen";
inline constexpr char kDeparted[] = "departed";
inline constexpr char kLook[] = "look";
inline constexpr char kAnswer[] = "answer";

}  // namespace slipway::launcher::watch
