#include "launcher/watch/terminal.h"

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string_view>

#include "core/environment.h"
#include "core/error.h"
#include "core/unique_handle.h"

namespace slipway::launcher::watch {
namespace {

constexpr const char* kNextStep = "use slipway status, slipway ls or slipway logs instead";
constexpr int kEscapeDelayMs = 50;
constexpr int kNothing = -1;

void CheckTerminal() {
  const auto term = Variable("TERM");
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    throw Error(ErrorKind::kEnvironment, "slipway watch needs a terminal, but its input or output is none", kNextStep);
  }
  if (term.empty() || term == "dumb") {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("slipway watch needs a terminal that can move its cursor, but TERM is {}",
                            term.empty() ? "not set" : "'dumb'"),
                kNextStep);
  }
}

/// The font of the Linux console has no braille.
bool NeedsAscii() { return Variable("TERM") == "linux" || Variable("TERM").starts_with("vt"); }

struct Look {
  short foreground;  ///< kNothing: the terminal's own
  attr_t attributes;
};

/// With and without colours.
Look LookOf(Style style, bool colours) {
  const auto colour = [&](short number, attr_t else_attributes) {
    return colours ? Look{number, A_NORMAL} : Look{kNothing, else_attributes};
  };
  switch (style) {
    case Style::kPlain: return {kNothing, A_NORMAL};
    case Style::kDim: return {kNothing, A_DIM};
    case Style::kStrong: return {kNothing, A_BOLD};
    case Style::kTitle:
    case Style::kSelected: return {kNothing, A_REVERSE};
    case Style::kGood: return colour(COLOR_GREEN, A_NORMAL);
    case Style::kBad: return colour(COLOR_RED, A_BOLD);
    case Style::kWarning: return colour(COLOR_YELLOW, A_BOLD);
    case Style::kAccent: return colour(COLOR_CYAN, A_NORMAL);
  }
  return {kNothing, A_NORMAL};
}

bool UseColours() {
  if (!Variable("NO_COLOR").empty() || !has_colors()) return false;
  start_color();
  use_default_colors();
  for (short number = COLOR_BLACK; number <= COLOR_WHITE; ++number)
    init_pair(static_cast<short>(number + 1), number, -1);
  return true;
}

KeyCode CodeOf(wint_t key, bool is_function_key) {
  if (is_function_key) {
    switch (key) {
      case KEY_UP: return KeyCode::kUp;
      case KEY_DOWN: return KeyCode::kDown;
      case KEY_LEFT: return KeyCode::kLeft;
      case KEY_RIGHT: return KeyCode::kRight;
      case KEY_PPAGE: return KeyCode::kPageUp;
      case KEY_NPAGE: return KeyCode::kPageDown;
      case KEY_HOME: return KeyCode::kHome;
      case KEY_END: return KeyCode::kEnd;
      case KEY_ENTER: return KeyCode::kEnter;
      case KEY_BACKSPACE: return KeyCode::kBackspace;
      case KEY_BTAB: return KeyCode::kBackTab;
      default: return KeyCode::kCharacter;
    }
  }
  if (key == '\r' || key == '\n') return KeyCode::kEnter;
  if (key == '\t') return KeyCode::kTab;
  if (key == 0x1b) return KeyCode::kEscape;
  return key == 0x7f || key == 0x08 ? KeyCode::kBackspace : KeyCode::kCharacter;
}

/// Drops what this process writes to stderr when that is the terminal: it would land in the middle of the screen.
class SilencedStderr {
 public:
  SilencedStderr() : saved_(::isatty(STDERR_FILENO) != 0 ? ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1) {
    const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (saved_ && null) ::dup2(null.get(), STDERR_FILENO);
  }
  SilencedStderr(const SilencedStderr&) = delete;
  SilencedStderr& operator=(const SilencedStderr&) = delete;
  ~SilencedStderr() {
    if (saved_) ::dup2(saved_.get(), STDERR_FILENO);
  }

 private:
  UniqueFd saved_;
};

}  // namespace

struct Terminal::State {
  SCREEN* screen = nullptr;
  bool colours = false;
  bool ascii = false;
  SilencedStderr silence;
};

Terminal::Terminal() {
  CheckTerminal();
  ::setlocale(LC_CTYPE, "C.UTF-8");  // names of runs and braille, whatever the language of the session is
  state_ = std::make_unique<State>();
  state_->screen = newterm(nullptr, stdout, stdin);
  if (state_->screen == nullptr) {
    state_.reset();
    throw Error(ErrorKind::kEnvironment,
                fmt::format("this machine does not know the terminal '{}' (TERM)", Variable("TERM")),
                "set another one, for example: TERM=xterm-256color slipway watch; or use slipway status");
  }
  state_->ascii = NeedsAscii();
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(kEscapeDelayMs);
  curs_set(0);
  state_->colours = UseColours();
}

Terminal::~Terminal() {
  if (!state_) return;
  endwin();
  delscreen(state_->screen);
}

Screen Terminal::Size() {
  struct winsize size {};
  Screen screen;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    screen = {size.ws_row, size.ws_col};
    if (getmaxy(stdscr) != screen.rows || getmaxx(stdscr) != screen.columns) resizeterm(screen.rows, screen.columns);
  }
  return screen;
}

void Terminal::Leave() { endwin(); }

void Terminal::Show(Frame frame) {
  if (state_->ascii) frame.UseAscii();
  erase();
  for (int row = 0; row < frame.rows(); ++row) {
    for (int column = 0; column < frame.columns(); ++column) {
      const auto& cell = frame.at(row, column);
      if (cell.glyph[0] == 0 || (cell.glyph[0] == U' ' && cell.style == Style::kPlain)) continue;
      const wchar_t text[] = {static_cast<wchar_t>(cell.glyph[0]), static_cast<wchar_t>(cell.glyph[1]),
                              static_cast<wchar_t>(cell.glyph[2]), L'\0'};
      const auto look = LookOf(cell.style, state_->colours);
      cchar_t shown;
      if (setcchar(&shown, text, look.attributes, static_cast<short>(look.foreground + 1), nullptr) == OK) {
        mvadd_wch(row, column, &shown);
      }
    }
  }
  refresh();
}

std::optional<Key> Terminal::ReadKey() {
  wint_t key = 0;
  const int kind = get_wch(&key);
  if (kind == ERR) return {};
  const auto code = CodeOf(key, kind == KEY_CODE_YES);
  if (code == KeyCode::kCharacter && kind == KEY_CODE_YES) return {};
  return Key{code, code == KeyCode::kCharacter ? static_cast<char32_t>(key) : 0};
}

bool Terminal::HungUp() const {
  struct pollfd input {
    STDIN_FILENO, POLLIN, 0
  };
  return ::poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace slipway::launcher::watch
