/// Writes event files for TensorBoard into the run folder while the run goes on (`train.metrics.tensorboard`).
///
/// They follow metrics.jsonl of each attempt: an event for each line. So a manager that goes on after a killed one
/// counts the events that are there, and adds the missing ones: none stands there twice.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/event_loop.h"
#include "core/json.h"
#include "core/output.h"
#include "ensemble/model/records.h"

namespace slipway::launcher {

/// All calls from the thread of `loop`; none throws. What cannot be written is a warning, once: the run goes on.
class LiveTensorboard {
 public:
  /// `run`: the folder of the run, or of the ensemble that the run is a trial of.
  LiveTensorboard(std::filesystem::path run, EventLoop& loop, Output& output);
  LiveTensorboard(const LiveTensorboard&) = delete;
  LiveTensorboard& operator=(const LiveTensorboard&) = delete;
  ~LiveTensorboard();

  /// Adds what attempts under earlier managers reported last. Cost: reads the event files once.
  void CatchUp();

  /// `directory`: the attempt's, with metrics.jsonl. `group`: of equal parameters.
  void Begin(std::optional<ensemble::TrialNumber> trial, int attempt, const std::filesystem::path& directory,
             const Json& parameters, const std::string& group);
  /// `state`: the word of its last state; empty: it goes on later.
  void End(std::optional<ensemble::TrialNumber> trial, int attempt, const std::string& state);

 private:
  struct File;
  using Key = std::pair<std::optional<ensemble::TrialNumber>, int>;

  void Poll();
  void CatchUpOne(const std::filesystem::path& events);
  template <class Action>
  void Guard(const Action& action);

  std::filesystem::path run_;
  EventLoop& loop_;
  Output& output_;
  std::optional<EventLoop::TimerId> timer_;
  std::map<Key, std::unique_ptr<File>> files_;
  bool has_failed_ = false;
};

}  // namespace slipway::launcher
