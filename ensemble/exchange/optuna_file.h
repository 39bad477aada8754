/// Optuna's storage of studies: an SQLite file with the tables of Optuna 3 (schema 12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ensemble/exchange/optuna.h"

namespace slipway::ensemble {

/// Writes one study into an empty file, as Optuna 3.1 does. Newer versions convert it with `optuna storage upgrade`.
/// Cost:   one transaction, no syncs: the caller makes the file durable.
/// Errors: Error(kEnvironment) naming `shown_as`.
class OptunaFileWriter {
 public:
  OptunaFileWriter(const std::filesystem::path& empty_file, std::filesystem::path shown_as, const OptunaStudy& study);
  OptunaFileWriter(const OptunaFileWriter&) = delete;
  OptunaFileWriter& operator=(const OptunaFileWriter&) = delete;
  ~OptunaFileWriter();

  void Add(const OptunaTrial& trial);
  /// Completes the file. Nothing can be added after it.
  void Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A study read from a file, with what an import needs: trials with state, times, parameters and values, in the order
/// of their numbers. Reports and attributes are not read.
struct ReadOptunaStudy {
  OptunaStudy study;
  std::vector<OptunaTrial> trials;
};

/// Limits for reading an untrusted file.
struct ReadLimits {
  std::size_t bytes = 256u << 20;      ///< of rows and texts
  std::int64_t steps = 1'000'000'000;  ///< of SQLite's virtual machine, by millions: 10 s to 20 s
};

/// Reads the study `name`, or the only one. Opens the file read-only. The file may be hostile: the amount read is
/// limited, no text is longer than 1 MiB, and only ordinary tables are read.
/// Errors: Error(kUsage) when there is no such study, or several and no `name`. Error(kEnvironment), naming the file,
///         when it is no storage of Optuna 3, has an older or newer schema, or is damaged or unreadable.
ReadOptunaStudy ReadOptunaFile(const std::filesystem::path& file, const std::optional<std::string>& name,
                               const ReadLimits& limits = {});

}  // namespace slipway::ensemble
