/// Requests of users to an ensemble from outside its manager: one small file each in the folder `requests`.
/// Only the manager writes the book, so the present or the next manager carries them out.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "ensemble/model/scalar.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// Queue a configuration as the next trial; it may leave parameters out.
struct Enqueue {
  Point point;
};

/// Run failed, pruned or cancelled trials again.
struct Retry {
  std::vector<TrialNumber> trials;
};

/// The file holds no valid request.
struct Malformed {
  std::string reason;
};

struct Request {
  std::string name;  ///< of its file; unique; sorted names are in the order of time
  std::variant<Enqueue, Retry, Malformed> what;
};

inline constexpr const char* kRequestsFolder = "requests";

/// Puts a request into `run_folder`; durable when it returns. Returns its name.
std::string PostRequest(const std::filesystem::path& run_folder, const std::variant<Enqueue, Retry>& what);

/// All waiting requests, in the order in which they were posted. A missing folder holds none; half-written files are
/// skipped.
std::vector<Request> WaitingRequests(const std::filesystem::path& run_folder);

/// Removes the file of a request. Call it when the answer is in the book.
void RemoveRequest(const std::filesystem::path& run_folder, const std::string& name);

}  // namespace slipway::ensemble
