/// What people ask of an ensemble beside its manager: one small file each in the folder `requests`, which the manager,
/// the only writer of the book, takes up; the present one or the next.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "ensemble/model/scalar.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// A configuration for the next trial; it may leave parameters out.
struct Enqueue {
  Point point;
};

/// Failed, pruned or cancelled trials shall run again.
struct Retry {
  std::vector<TrialNumber> trials;
};

/// What is in the file cannot be understood.
struct Malformed {
  std::string reason;
};

struct Request {
  std::string name;  ///< of its file; unique, in the order of time
  std::variant<Enqueue, Retry, Malformed> what;
};

inline constexpr const char* kRequestsFolder = "requests";

/// Puts a request into `run_folder`; durable when it returns. Returns its name.
std::string PostRequest(const std::filesystem::path& run_folder, const std::variant<Enqueue, Retry>& what);

/// All that wait, in the order in which they were posted. A missing folder holds none; half-written files are not seen.
std::vector<Request> WaitingRequests(const std::filesystem::path& run_folder);

/// To be called when the answer is in the book.
void RemoveRequest(const std::filesystem::path& run_folder, const std::string& name);

}  // namespace slipway::ensemble
