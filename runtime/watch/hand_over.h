/// How a board comes to the keeper of its node: a process that sees it also when all ranks of the node are stuck.
///
/// One message over a Unix stream socket: HandedHeader, and with it the descriptor of the board's memory. The keeper
/// reads and writes the memory as a file, so that a program that shortens it does no harm to the keeper.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/unique_handle.h"
#include "runtime/watch/board.h"

namespace slipway::runtime {

/// The variable that names the keeper's socket to the ranks.
inline constexpr char kKeeperVariable[] = "SLIPWAY_WATCH_SOCKET";

struct HandedHeader {
  /// Changes with the layout of BoardLine and BoardAnswer, so that a program with an older libslipway is not misread.
  static constexpr std::uint32_t kVersion = 0x57424401;

  std::uint32_t version = kVersion;
  std::uint32_t line_bytes = sizeof(BoardLine);
  std::uint32_t lines = 0;
  std::int32_t process = 0;  ///< who hands it over, by its own count of processes
};

/// Gives the board of `lines` lines in `memory` to the keeper. Does not wait; false when there is none, or it is stuck.
bool HandOver(const std::filesystem::path& keeper, int memory, std::size_t lines) noexcept;

/// A board at its keeper.
class HandedBoard {
 public:
  /// What comes over a connected socket, if it is a board.
  static std::optional<HandedBoard> Receive(int socket);

  std::size_t lines() const { return lines_; }
  /// The processes on it are numbered as here: they, and the keeper, are in one namespace.
  bool same_processes() const { return same_processes_; }
  /// Copies the lines as they are now; false when the program has taken the memory away.
  bool Read(std::vector<BoardLine>& into) const;
  void Answer(std::string_view text) const;

 private:
  HandedBoard() = default;

  UniqueFd memory_;
  std::size_t lines_ = 0;
  bool same_processes_ = true;
};

}  // namespace slipway::runtime
