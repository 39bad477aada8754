/// Optuna's storage of studies: an SQLite file with the tables of Optuna 3 (schema 12).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// A study read from a file, with all that an import needs: trials with state, times, parameters and values, in the
/// order of their numbers. Reports and attributes are left where they are.
struct ReadOptunaStudy {
  OptunaStudy study;
  std::vector<OptunaTrial> trials;
};

/// Reads the study `name`, or the only one. The file is opened read-only and may be hostile: what is read is bounded
/// (256 MiB of values and texts, a billion steps of SQLite's machine), and only ordinary tables are looked at.
/// Errors: Error(kUsage) when there is no such study, or several and none was named; kEnvironment, naming the file,
/// when it is no storage of Optuna 3, an older or newer one, damaged or unreadable.
ReadOptunaStudy ReadOptunaFile(const std::filesystem::path& file, const std::optional<std::string>& name);

}  // namespace slipway::ensemble
