/// The rules of MLPerf HPC 3.0 for the log of one instance, checked without any code of Slipway: what each line must
/// be, which keys come how often, and in which order.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace slipway::test {

using MllogLines = std::vector<nlohmann::json>;

/// The lines of a log. A line that is none is a fault of the test.
MllogLines ReadMllogLines(const std::filesystem::path& log);

/// "key epoch_num" or "key", in the order of the file: what a test can compare.
std::vector<std::string> KeysOf(const MllogLines& lines);
/// Of the first line with this key. Null when there is none.
nlohmann::json ValueOf(const MllogLines& lines, const std::string& key);
/// The status of the only run_stop; empty when there is none.
std::string StatusOf(const MllogLines& lines);

/// Who has written it besides the launcher.
enum class Program { kForeign, kTrainer };

/// What is wrong, one line each; empty: nothing. A run that was begun again may repeat its epochs.
std::vector<std::string> FaultsOf(const MllogLines& lines, Program program);

}  // namespace slipway::test
