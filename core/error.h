/// The one error type of Slipway: what failed, why, and what to do next.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"

namespace slipway {

/// Why an operation ended. The value is the exit code of the program.
enum class ErrorKind {
  kFailed = 1,        ///< The run, trial or check itself failed.
  kUsage = 2,         ///< The command line or the spec is wrong.
  kEnvironment = 3,   ///< Something outside is missing or broken: scheduler, MPI, disk, data.
  kBusy = 4,          ///< Another process holds it.
  kInternal = 70,     ///< A promise of our own code was broken.
  kTryAgain = 75,     ///< May succeed later; a program that exits with it asks to be requeued.
  kInterrupted = 130  ///< The user ended it.
};

/// The stable word for `kind` in JSON documents ("usage", "environment", ...).
std::string_view ErrorKindName(ErrorKind kind);

/// Ends an operation. `message` names the thing and the reason, `next_step` what the user can do.
/// A layer calls `AddContext` where the noun changes (block, file, dataset, run).
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, std::string next_step = {});

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const std::string& message() const { return message_; }
  const std::string& next_step() const { return next_step_; }
  /// Innermost first, each like "while staging dataset 'train'".
  const std::vector<std::string>& context() const { return context_; }

  void AddContext(std::string line);
  /// Adds what only this kind of error knows to its `slipway.error/1` document.
  virtual void AddToDocument(Json& document) const;
  /// The whole text: message, context lines, next step.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void Compose();

  ErrorKind kind_;
  std::string message_;
  std::string next_step_;
  std::vector<std::string> context_;
  std::string text_;
};

/// A system call failed; keeps its errno.
class SystemError : public Error {
 public:
  /// `what` says what was tried, e.g. "cannot open '/x'"; the text of `code` is appended. Without a
  /// next step it has the usual one for `code`.
  SystemError(int code, std::string_view what, std::string next_step = {});
  int code() const { return code_; }

 private:
  int code_;
};

/// Throws SystemError with the present errno.
[[noreturn]] void ThrowErrno(std::string_view what, std::string next_step = {});

/// Returns `result`, or throws SystemError when it is negative.
template <class Integer>
Integer CheckErrno(Integer result, std::string_view what) {
  if (result < 0) ThrowErrno(what);
  return result;
}

/// Runs `action`; an Error that leaves it carries `context` as well.
template <class Action>
auto WithContext(std::string_view context, Action&& action) -> decltype(action()) {
  try {
    return std::forward<Action>(action)();
  } catch (Error& error) {
    error.AddContext(std::string(context));
    throw;
  }
}

}  // namespace slipway
