/// Delivers the lines that are appended to a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/unique_handle.h"

namespace slipway::launcher {

using BytesRead = std::function<void(std::uint64_t bytes)>;

class LineFollower {
 public:
  /// The file need not exist yet. `on_read`, if given, hears of each piece that was read.
  LineFollower(std::filesystem::path path, std::function<void(std::string_view line)> callback, BytesRead on_read = {});

  /// Reads what is new and delivers the complete lines. A file that has become shorter is read again from its start.
  /// A line beyond 64 KiB is delivered in pieces. They end at a carriage return if there is one, so that each drawing
  /// of a progress bar stays whole.
  void Poll();
  /// Poll, then the rest as a line even without a newline. Closes the file; a later Poll goes on behind that line.
  void Finish();

  /// The start of the line that has no end yet. Valid until the next call.
  std::string_view unfinished() const { return line_; }

 private:
  void Take(std::string_view bytes);
  void DeliverPiece();
  void Deliver(std::string_view line);

  std::filesystem::path path_;
  std::function<void(std::string_view)> callback_;
  BytesRead on_read_;
  UniqueFd fd_;
  std::uint64_t offset_ = 0;
  std::string line_;
};

}  // namespace slipway::launcher
