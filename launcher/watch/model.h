/// What `slipway watch` shows and how it answers keys: a value, changed by pure functions.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/words.h"
#include "launcher/watch/watch_data.h"

namespace slipway::launcher::watch {

struct Screen {
  int rows = 24;
  int columns = 80;
  bool operator==(const Screen&) const = default;
};

enum class KeyCode {
  kCharacter,
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kBackspace,
  kTab,
  kBackTab
};

struct Key {
  KeyCode code = KeyCode::kCharacter;
  char32_t character = 0;
};

/// kSteps is of workflows, kCurves and kRanks of single runs, kTrials and kPlaces of ensembles. kTrial and kLog are
/// opened from another.
enum class Page { kRuns, kSteps, kOverview, kCurves, kRanks, kTrials, kPlaces, kEvents, kTrial, kLog };
inline constexpr std::size_t kPages = 10;
WordTable<Page> WordsOf(Page);

/// Order, filter and cursor of the rows of a page.
struct ListState {
  int sort = 0;
  bool reverse = false;
  std::string filter;
  std::string selected;            ///< the key of a row, which moves with it
  std::vector<std::size_t> order;  ///< the rows that are shown
  std::size_t cursor = 0;          ///< within `order`
};

/// What the program is to do outside of the screen.
struct Action {
  enum class Kind { kCancel, kRetry };
  Kind kind = Kind::kCancel;
  std::filesystem::path run;
  std::optional<ensemble::TrialNumber> trial;
};

struct Model {
  std::shared_ptr<const WatchData> data = std::make_shared<WatchData>();
  Screen screen;
  double now = 0;  ///< seconds since 1970
  Page page = Page::kOverview;
  std::vector<Page> back;  ///< the pages that Esc returns to
  std::array<ListState, kPages> lists;
  bool has_list = false;           ///< `watch all`: there is a list of runs
  std::filesystem::path workflow;  ///< the run of a workflow that is open; empty: none
  std::string step;                ///< whose log is shown; empty: that of a rank
  std::filesystem::path run;       ///< the open one; empty: none yet
  std::optional<ensemble::TrialNumber> trial;
  int rank = 0;
  int log_lines_below = 0;  ///< the log is scrolled up by these; 0: it follows
  bool log_scale = false;
  bool editing_filter = false;
  bool help = false;
  bool quit = false;
  std::optional<Action> question;  ///< waits for `y`
  std::optional<Action> action;    ///< confirmed; the program takes it out
  std::string notice;              ///< what came of the last one
  bool is_busy = false;            ///< an action is being carried out

  ListState& list() { return lists[static_cast<std::size_t>(page)]; }
  const ListState& list() const { return lists[static_cast<std::size_t>(page)]; }
};

/// Pure. Keys: see HelpLines.
Model Update(Model model, const Key& key);
/// Pure: the same screen with newer data. The selected row stays selected wherever it has moved to.
Model WithData(Model model, std::shared_ptr<const WatchData> data);
/// Pure.
Interest InterestOf(const Model& model);
/// The pages that digits open, in their order.
std::vector<Page> PagesOf(const Model& model);
/// Pure. Whether a run is in hand that has not ended.
bool MayCancel(const Model& model);
/// What is asked before it is done: "cancel fash-...?".
std::string Question(const Action& action);
/// Key and meaning, one line each.
std::vector<std::pair<std::string, std::string>> HelpLines();

}  // namespace slipway::launcher::watch
