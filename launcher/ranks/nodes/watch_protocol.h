/// The protocol between the manager of a job on several nodes and the monitor of status tables on each node.
///
/// Each message is a line over a stream (protocol.h): a word, a space and a JSON object.
///
/// ```
///   monitor -> manager   asks      a rank has waited too long for others; repeated while it waits
///                        seen      `look`: the number of the request; `ranks`: a RankStatus of each rank of the node
///                                  that is or was in slipway_init (runtime/watch/rank_status.h)
///                        departed  `ranks`: a RankStatus of each rank of the node that has ended or is in
///                                  slipway_finalize; sent once for each
///   manager -> monitor   look      `look`: its number; answered by `seen`
///                        answer    `kind`, `message`, `ranks`: the content of watch.json; the ranks then end
///                        departed  the same, of other nodes; for the ranks that wait for one of these
/// ```
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
