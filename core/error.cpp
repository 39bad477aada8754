#include "core/error.h"

#include <cerrno>
#include <cstring>

namespace slipway {
namespace {

/// For what failed without a next step of its own.
std::string_view NextStepFor(int code) {
  switch (code) {
    case ENOENT: return "check the path";
    case ENOTDIR: return "check the path: a part of it is no directory";
    case EISDIR: return "name a file";
    case EEXIST: return "move it away, or choose another name";
    case ENAMETOOLONG: return "choose a shorter path";
    case EACCES:
    case EPERM: return "check owner and permissions with: ls -ld";
    case EROFS: return "choose a place on a file system that can be written";
    case EFBIG: return "raise the limit of file sizes: ulimit -f shows it; the file system may have one, too";
    case ENOSPC:
    case EDQUOT: return "free space; df -h, df -i and quota show what is full";
    // The launcher has raised its soft limit; a program that uses the library has not.
    case EMFILE:
      return "raise the limit of open files: ulimit -n for a program; slipway itself needs a higher hard limit "
             "(ulimit -Hn): ask the administrator";
    case ENFILE: return "ask the administrator for more open files on this node: sysctl fs.file-max";
    case ENOMEM: return "give the job more memory";
    case EIO:
    case ESTALE: return "check the file system: dmesg shows its errors";
    case EADDRNOTAVAIL:
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT: return "check that the other side runs, and that the network reaches it";
    case EAGAIN: return "try again; ulimit -u shows the limit of processes";
    default: return "check the path, its file system and dmesg";
  }
}

}  // namespace

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
    : Error(ErrorKind::kEnvironment, std::string(what) + ": " + std::strerror(code),
            next_step.empty() ? std::string(NextStepFor(code)) : std::move(next_step)),
      code_(code) {}

void ThrowErrno(std::string_view what, std::string next_step) {
  const int code = errno;
  throw SystemError(code, what, std::move(next_step));
}

}  // namespace slipway
