#include "launcher/cli/commands/stage_directives.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/event_loop.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "launcher/run/data/buffer_transfers.h"

namespace slipway::launcher {
namespace {

std::optional<Bytes> BytesIn(const std::string& option, const std::string& text) {
  if (text.empty()) return {};
  const auto bytes = ParseBytes(text);
  if (bytes && bytes->count > 0) return bytes;
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a number of bytes", option, text),
              "write it like 500MB or 1.5GiB");
}

/// Reads the descriptor, not /dev/stdin: this process's user may be unable to open that file again.
std::string ReadStandardInput() {
  std::string text;
  char piece[16384];
  while (const auto count = CheckErrno(::read(STDIN_FILENO, piece, sizeof piece), "cannot read standard input")) {
    text.append(piece, static_cast<std::size_t>(count));
  }
  return text;
}

void CarryOut(const StageDirectivesOptions& options) {
  const auto script = options.script == "-" ? ReadStandardInput() : ReadFile(options.script);
  if (options.what == "check") return CheckDirectives(script);
  if (!options.buffer.is_absolute()) {
    throw Error(ErrorKind::kUsage, "the directory of the burst buffer is not named by an absolute path",
                fmt::format("slipway stage directives {} SCRIPT --buffer DIRECTORY", options.what));
  }
  EventLoop loop;
  Interrupt interrupt(loop);
  staging::StageOutOptions copy;
  copy.existing = staging::Existing::kMerge;
  copy.bytes_per_second = BytesIn("--bandwidth", options.bandwidth);
  copy.cancelled = [&] {
    loop.RunOnce(std::chrono::nanoseconds(0));
    return interrupt.asked();
  };
  if (options.what == "out") return CopyOutOfBuffer(script, options.buffer, copy);
  CopyIntoBuffer(script, options.buffer, BytesIn("--capacity", options.capacity), copy);
}

}  // namespace

int StageDirectives(const StageDirectivesOptions& options, Session& session) {
  CarryOut(options);
  session.output.Print({Json{{"schema", "slipway.stage_directives/1"}, {"done", options.what}}, "", ""});
  return 0;
}

}  // namespace slipway::launcher
