/// The orders that a manager sends, taken apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slipway::supervisor {

/// Points into the frame that it was read from.
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

/// Takes the frame (without its length) apart; strings that are not there are empty.
Request ReadRequest(char* frame, std::size_t bytes);

/// Removes the first whole frame from `received` and puts it into `frame`; false when there is none yet.
bool TakeFrame(std::string& received, std::string& frame);

}  // namespace slipway::supervisor
