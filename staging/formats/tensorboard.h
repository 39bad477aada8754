/// Event files of TensorBoard: TFRecord files of `Event` messages, with scalars and hyperparameters.
///
/// Wire form (tensorboard/compat/proto, tensorboard/plugins/hparams):
/// - Event: double wall_time = 1, int64 step = 2, string file_version = 3, Summary summary = 5
/// - Summary: repeated Value value = 1
/// - Value: string tag = 1, float simple_value = 2, TensorProto tensor = 8, SummaryMetadata metadata = 9
///
/// Hyperparameters stand in the metadata of values with the tags `_hparams_/...`, for the plugin `hparams`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace slipway::staging {

/// TensorBoard takes files for event files whose names hold this.
inline constexpr std::string_view kEventFileName = "events.out.tfevents";

/// All functions below return one framed record, ready to be appended. `time` is in seconds since 1970.

/// The first record of every file.
std::string EventFileHeader(double time);
/// Values are stored with 32 bits; NaN and the infinities are kept.
std::string ScalarsEvent(double time, std::int64_t step,
                         const std::vector<std::pair<std::string_view, double>>& values);

using HyperParameter = std::variant<double, bool, std::string>;
using HyperParameters = std::vector<std::pair<std::string, HyperParameter>>;

/// A session is a run of TensorBoard, here a trial or an attempt. `group`: sessions of equal parameters.
std::string SessionStartEvent(double time, const HyperParameters& parameters, const std::string& group);
enum class SessionStatus { kUnknown = 0, kSuccess = 1, kFailure = 2, kRunning = 3 };
std::string SessionEndEvent(double time, SessionStatus status);

/// The columns of the HPARAMS tab: `values` of text and truth parameters may be empty, for any.
struct HyperParameterColumn {
  enum class Kind { kText = 1, kTruth = 2, kNumber = 3 };
  std::string name;
  Kind kind = Kind::kText;
  std::optional<std::pair<double, double>> interval = {};
  std::vector<HyperParameter> values = {};
};
struct ExperimentColumns {
  std::string description;
  std::vector<HyperParameterColumn> parameters;
  std::vector<std::string> metrics;
};
/// It stands in the folder above all sessions.
std::string ExperimentEvent(double time, const ExperimentColumns& columns);

/// How far an event file is intact: it may end within a record when its writer was killed.
struct EventFileState {
  std::uint64_t bytes = 0;    ///< of the intact records
  std::uint64_t records = 0;  ///< intact ones
  std::uint64_t scalars = 0;  ///< records with scalars among them
};
/// Nothing when there is no such file. Cost: reads the file once, 64 MiB of memory at most for one record.
/// Errors: SystemError.
std::optional<EventFileState> InspectEventFile(const std::filesystem::path& path);

}  // namespace slipway::staging
