/// Optuna's storage of studies: an SQLite file with the tables of Optuna 3 (schema 12).
#pragma once

#include <filesystem>
#include <memory>

#include "ensemble/exchange/optuna_trial.h"

namespace slipway::ensemble {

/// Writes one study into an empty file, as Optuna 3.1 would have; newer ones bring it to theirs with `optuna storage
/// upgrade`. Cost: one transaction, no syncs: the caller makes the file durable.
/// Errors: Error(kEnvironment) naming `shown_as`.
class OptunaFileWriter {
 public:
  OptunaFileWriter(const std::filesystem::path& empty_file, std::filesystem::path shown_as, const OptunaStudy& study);
  OptunaFileWriter(const OptunaFileWriter&) = delete;
  OptunaFileWriter& operator=(const OptunaFileWriter&) = delete;
  ~OptunaFileWriter();

  void Add(const OptunaTrial& trial);
  /// The file is whole after it; nothing can be added.
  void Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace slipway::ensemble
