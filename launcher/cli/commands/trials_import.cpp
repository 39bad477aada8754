#include "launcher/cli/commands/trials_import.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "ensemble/exchange/import_trials.h"
#include "ensemble/exchange/optuna_file.h"
#include "ensemble/study/open_study.h"
#include "launcher/cli/commands/ensemble_target.h"
#include "launcher/run/trials/open_book.h"

namespace slipway::launcher {
namespace {

struct Import {
  RunFolder folder;
  ensemble::Imported trials;
  ensemble::ImportCount count;
};

Import CarryOut(const TrialsImportOptions& options, Session& session) {
  const auto read = ensemble::ReadOptunaFile(options.file, options.study);
  EnsembleTarget target(options.target, session);
  auto trials = ensemble::FromOptuna(read.study, read.trials, target.options().space, target.options().objectives);
  const auto& folder = target.Folder();
  auto book = OpenBook(folder, ensemble::Hold::kCommand);
  const double now = UnixSeconds(SystemClock().Now());
  ensemble::OpenStudy(book, target.options(), now);
  NoteStudy(folder);
  const auto count = ensemble::ImportTrials(book, trials.trials, now);
  book.Settle();
  return {folder, std::move(trials), count};
}

std::string TextOf(const Import& import) {
  auto text = fmt::format("{} trials imported into {}", import.count.added, import.folder.id());
  if (import.count.known > 0) text += fmt::format("\n  {} were there already", import.count.known);
  for (const auto& [why, count] : import.trials.left_out) text += fmt::format("\n  {} left out: {}", count, why);
  return text;
}

}  // namespace

int TrialsImport(const TrialsImportOptions& options, Session& session) {
  const auto import = CarryOut(options, session);
  Json left_out = Json::array();
  for (const auto& [why, count] : import.trials.left_out) left_out.push_back({{"reason", why}, {"trials", count}});
  const Json document{
      {"schema", "slipway.trials.import/1"}, {"run", import.folder.id()},   {"folder", import.folder.path().string()},
      {"imported", import.count.added},      {"known", import.count.known}, {"left_out", std::move(left_out)}};
  session.output.Print({document, TextOf(import), import.folder.id()});
  return 0;
}

}  // namespace slipway::launcher
