/// The rank status table: what each rank of a node is doing, in memory that all of them see.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace slipway::runtime {

/// The call that a program is in, or has completed last.
enum class Activity : std::uint32_t {
  kNothing,
  kInit,
  kAllreduce,
  kBroadcast,
  kReduceScatter,
  kAllgather,
  kAlltoall,
  kBarrier,
  kRegister,
  kGradients,
  kAverage,
  kCheckMatch,
  kStopRequested,
  kCheckpoint,
  kGroup,
  kState,
  kFinalize,
  kServerCreate,
  kServerPush,
  kServerPull,
  kServerFree,
};

/// "slipway_allreduce", ...
const char* NameOf(Activity activity);

/// The status of one rank. Only that rank writes it. A reader may see one value newer than the next; that is good
/// enough for a message.
struct alignas(128) RankStatusRow {
  static constexpr int kTeams = 8;  ///< teams and parameter servers with a stored name
  static constexpr int kNameLength = 40;
  static constexpr int kMissing = 16;  ///< ranks listed in `missing`

  std::atomic<std::int32_t> rank{-1};
  std::atomic<std::int32_t> process{0};
  std::atomic<std::uint32_t> last{0};      ///< activity, and team + 1 in the upper half
  std::atomic<std::uint32_t> current{0};   ///< the same; 0 between the calls
  std::atomic<std::int64_t> step{0};       ///< gradient exchanges done
  std::atomic<std::uint32_t> finished{0};  ///< 1 after slipway_finalize
  std::atomic<std::uint32_t> gave_up{0};   ///< the operation in which it waited for another one in vain
  std::atomic<std::uint32_t> asks{0};      ///< the operation in which it has waited too long, while it still waits
  std::atomic<std::uint32_t> waited_ms{0};
  std::array<std::atomic<std::int32_t>, kMissing> missing{};  ///< ranks that it waits for: rank + 1, until the first 0
  std::array<std::array<char, kNameLength>, kTeams> teams{};
  std::atomic<std::uint32_t> awaits_gpu{0};  ///< the operation in which it waits for its own GPU alone
};

/// "the exchange of gradients of team 'net'" for a value of `last` or `current`.
std::string Describe(const RankStatusRow& row, std::uint32_t activity);

/// What an observer that sees the status tables of all nodes tells the ranks of one. Text is only ever added, the
/// length last.
template <std::size_t kMost>
struct alignas(128) ObserverText {
  static constexpr std::size_t kLongest = kMost;

  std::atomic<std::uint32_t> length{0};
  std::array<char, kLongest> text{};

  std::string_view Read() const {
    return {text.data(), std::min<std::size_t>(length.load(std::memory_order_acquire), text.size())};
  }
};

/// Which rank holds the job up; follows the rows. Written once.
using StallReport = ObserverText<16 * 1024>;

/// Ranks of other nodes that have departed: ended, or in slipway_finalize while others still work. Follows the answer.
/// One line of JSON for each rank (rank_status.h).
using TableDepartures = ObserverText<8 * 1024>;

/// Of a table with `rows` rows.
constexpr std::size_t StatusTableBytes(std::size_t rows) {
  return rows * sizeof(RankStatusRow) + sizeof(StallReport) + sizeof(TableDepartures);
}

}  // namespace slipway::runtime
