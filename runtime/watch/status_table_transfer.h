/// Hands a status table to the monitor of its node. The monitor is a process that sees the table even when all ranks of
/// the node are stuck.
///
/// One message over a Unix stream socket: StatusTableHeader with the descriptor of the table's memory. The monitor
/// reads and writes the memory as a file. So a program that shortens it does no harm to the monitor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/unique_handle.h"
#include "runtime/watch/rank_status_table.h"

namespace slipway::runtime {

/// The variable that names the monitor's socket to the ranks.
inline constexpr char kMonitorVariable[] = "SLIPWAY_WATCH_SOCKET";

struct StatusTableHeader {
  /// Changes with the layout of a table (rank_status_table.h). So a program with an older libslipway is not misread.
  static constexpr std::uint32_t kVersion = 0x57424402;

  std::uint32_t version = kVersion;
  std::uint32_t row_bytes = sizeof(RankStatusRow);
  std::uint32_t rows = 0;
  std::int32_t process = 0;  ///< the sender's number in its own process namespace
};

/// Gives the status table of `rows` rows in `memory` to the monitor. Does not wait. False when there is no monitor,
/// or it is stuck.
bool SendStatusTable(const std::filesystem::path& monitor, int memory, std::size_t rows) noexcept;

/// A table received by the monitor.
class ReceivedStatusTable {
 public:
  /// Receives a table over a connected socket; nothing for any other message.
  static std::optional<ReceivedStatusTable> Receive(int socket);

  /// The processes on it have the same numbers here: they and the monitor are in one namespace.
  bool same_processes() const { return same_processes_; }
  /// Copies the rows as they are now; false when the program has taken the memory away.
  bool Read(std::vector<RankStatusRow>& into) const;
  void Answer(std::string_view text) const;
  /// `line`: of TableDepartures, without its end. Lines that do not fit are left out.
  void AddDeparture(std::string line);

 private:
  ReceivedStatusTable() = default;

  UniqueFd memory_;
  std::size_t rows_ = 0;
  std::size_t departures_ = 0;  ///< bytes of TableDepartures
  bool same_processes_ = true;
};

}  // namespace slipway::runtime
