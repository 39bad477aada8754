/// One program of a supervisor, from its start to its end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/ranks/shim/ending.h"
#include "launcher/ranks/shim/strays.h"

namespace slipway::supervisor {

// Parses the orders of a manager.

/// An order. It points into the frame that it was read from.
struct Request {
  const char* order = "";
  std::uint64_t id = 0;
  int signal = 0;  ///< of `signal`
  // Of `start`:
  const char* folder = "";
  int grace_ms = 0;
  const char* cores = "";
  const char* directory = "";
  std::vector<char*> words;  ///< ends with a null pointer, as does the next
  std::vector<char*> variables;
};

/// Parses the frame (without its length). False when it breaks the protocol: a number or a word is missing.
bool ReadRequest(char* frame, std::size_t bytes, Request& request);

/// Removes the first whole frame from `received` and puts it into `frame`; false when there is none yet.
bool TakeFrame(std::string& received, std::string& frame);

struct Program {
  std::uint64_t id = 0;
  pid_t pid = 0;
  std::string folder;
  shim::Ending ending;
  shim::StraySignal strays;
};

/// Marks a program and its children by a variable such as "4711-12" in their environment. It identifies children that
/// outlive their parents.
class Tag {
 public:
  explicit Tag(std::uint64_t id);
  /// NAME=value.
  const char* variable() const { return text_; }

 private:
  char text_[64];
};

/// Whether a process has that tag; nothing when it has none, or its environment is unreadable.
std::optional<bool> HasTag(pid_t process, const Tag& tag);

struct Started {
  pid_t pid = -1;  ///< -1: there is no process
  int error = 0;   ///< errno, when the program does not run
};

/// Starts the program. Returns when it runs, or cannot run; then any process of it is already gone.
/// Cost: the caller's memory is lent to the new process until it has become the program, as with posix_spawn.
Started Start(const Request& request);

}  // namespace slipway::supervisor
