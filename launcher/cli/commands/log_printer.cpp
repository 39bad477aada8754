#include "launcher/cli/commands/log_printer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "launcher/ranks/monitor/rank_log.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

void LogPrinter::PrintWhatIsThere() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  for (const auto& name : names) Look(name);
}

void LogPrinter::Look(const std::string& name) {
  const auto rank = RankOfLog(name);
  if (!rank || lines_.rank.value_or(*rank) != *rank) return;
  const auto [at, is_new] = followers_.try_emplace(
      name, folder_ / name, [this, rank = *rank](std::string_view line) { PrintLine(rank, line); });
  at->second.Poll();
}

void LogPrinter::Finish() {
  for (auto& [name, follower] : followers_) follower.Finish();
}

void LogPrinter::PrintLine(int rank, std::string_view line) {
  output_.Stream(Json{{"rank", rank}, {"line", line}}, ShownLine(rank, line, lines_.prefix));
}

void AttemptsPrinter::Look() {
  while (fs::is_directory(run_.attempt(attempt_))) {
    if (!printer_) printer_.emplace(run_.attempt(attempt_), LinesToPrint{{}, prefix_}, output_);
    printer_->PrintWhatIsThere();
    if (!fs::is_directory(run_.attempt(attempt_ + 1))) return;
    Finish();
    ++attempt_;
  }
}

void AttemptsPrinter::Finish() {
  if (printer_) printer_->Finish();
  printer_.reset();
}

}  // namespace slipway::launcher
