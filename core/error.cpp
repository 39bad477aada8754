#include "core/error.h"

#include <cerrno>
#include <cstring>

namespace slipway {

std::string_view ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kFailed: return "failed";
    case ErrorKind::kUsage: return "usage";
    case ErrorKind::kEnvironment: return "environment";
    case ErrorKind::kBusy: return "busy";
    case ErrorKind::kInternal: return "internal";
    case ErrorKind::kTryAgain: return "try_again";
    case ErrorKind::kInterrupted: return "interrupted";
  }
  return "internal";
}

Error::Error(ErrorKind kind, std::string message, std::string next_step)
    : kind_(kind), message_(std::move(message)), next_step_(std::move(next_step)) {
  Compose();
}

void Error::AddContext(std::string line) {
  context_.push_back(std::move(line));
  Compose();
}

void Error::AddToDocument(Json&) const {}

void Error::Compose() {
  text_ = message_;
  for (const auto& line : context_) text_ += "\n  " + line;
  if (!next_step_.empty()) text_ += "\n  next: " + next_step_;
}

SystemError::SystemError(int code, std::string_view what, std::string next_step)
    : Error(ErrorKind::kEnvironment, std::string(what) + ": " + std::strerror(code), std::move(next_step)),
      code_(code) {}

void ThrowErrno(std::string_view what, std::string next_step) {
  const int code = errno;
  throw SystemError(code, what, std::move(next_step));
}

}  // namespace slipway
