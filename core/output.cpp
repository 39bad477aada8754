#include "core/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "core/terminal_columns.h"
#include "core/terminal_text.h"

namespace slipway {

Json ErrorDocument(const Error& error) {
  Json document{{"schema", "slipway.error/1"}, {"kind", ErrorKindName(error.kind())}, {"exit_code", error.exit_code()},
                {"message", error.message()},  {"context", error.context()},          {"next_step", error.next_step()}};
  error.AddToDocument(document);
  return document;
}

namespace {

/// JSON text that is valid whatever bytes a path or a log line holds.
std::string Dump(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

/// A line of this many columns does not wrap; none where the width is not known.
std::optional<int> ColumnsWithoutWrap(int fd) {
  struct winsize size {};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? std::optional(size.ws_col - 1) : std::nullopt;
}

/// A terminal that moves its cursor and changes colours as it is told.
bool ObeysEscapes(int fd) { return IsTerminal(fd) && Variable("TERM") != "dumb"; }

bool WantsColour(int fd) { return ObeysEscapes(fd) && Variable("NO_COLOR").empty(); }

class ConsoleOutput final : public Output {
 public:
  ConsoleOutput(OutputMode mode, Clock& clock)
      : mode_(mode),
        clock_(clock),
        redraws_(ObeysEscapes(STDERR_FILENO)),
        colour_(WantsColour(STDERR_FILENO)),
        said_progress_(clock.Steady() - kQuietInterval) {}

  OutputMode mode() const override { return mode_; }
  std::optional<int> Columns() const override { return ColumnsWithoutWrap(STDOUT_FILENO); }
  int WriteError() const override { return write_error_; }

  void Print(const Result& result) override {
    ClearProgress();
    if (mode_ == OutputMode::kJson) {
      Answer(Dump(result.document, 2));
    } else {
      const auto text = mode_ == OutputMode::kQuiet ? std::string(result.brief) : WithoutControls(result.text);
      if (!text.empty()) Answer(text);
    }
  }

  void Stream(const Json& document, std::string_view text) override {
    if (mode_ == OutputMode::kQuiet) return;
    ClearProgress();
    Answer(mode_ == OutputMode::kJson ? Dump(document, -1) : std::string(text));
  }

  void Say(std::string_view line) override {
    if (mode_ == OutputMode::kQuiet) return;
    ClearProgress();
    WriteLine(stderr, WithoutControls(line));
  }

  void Warn(std::string_view line) override {
    ClearProgress();
    WriteLine(stderr, Coloured("\033[33m", "warning:") + " " + WithoutControls(line));
  }

  void Fail(const Error& error) override {
    ClearProgress();
    if (mode_ == OutputMode::kJson) WriteLine(stdout, Dump(ErrorDocument(error), 2));
    WriteLine(stderr, Coloured("\033[1;31m", "error:") + " " + WithoutControls(error.what()));
  }

  void Progress(std::string_view line) override {
    if (mode_ != OutputMode::kHuman) return;
    if (redraws_) {
      const auto columns = ColumnsWithoutWrap(STDERR_FILENO);  // a wrapped line could not be replaced
      DrawProgress(columns ? CutToColumns(line, *columns) : WithoutControls(line));
    } else if (!line.empty() && clock_.Steady() - said_progress_ >= kQuietInterval) {
      said_progress_ = clock_.Steady();
      WriteLine(stderr, WithoutControls(line));
    }
  }

 private:
  static constexpr auto kQuietInterval = std::chrono::seconds(5);

  /// False when not all of it is written: errno says why.
  static bool WriteLine(std::FILE* file, std::string_view text) {
    bool is_whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (text.empty() || text.back() != '\n') is_whole = std::fputc('\n', file) != EOF && is_whole;
    return std::fflush(file) == 0 && is_whole;
  }

  void Answer(std::string_view text) {
    if (!WriteLine(stdout, text) && errno != EPIPE && write_error_ == 0) write_error_ = errno;
  }

  std::string Coloured(std::string_view colour, std::string_view text) const {
    return colour_ ? std::string(colour) + std::string(text) + "\033[0m" : std::string(text);
  }

  void DrawProgress(std::string_view line) {
    if (line.empty() && !drawn_) return;
    const auto text = "\r\033[K" + std::string(line);
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
    drawn_ = !line.empty();
  }

  void ClearProgress() { DrawProgress(""); }

  OutputMode mode_;
  Clock& clock_;
  bool redraws_;
  bool colour_;
  bool drawn_ = false;
  int write_error_ = 0;
  SteadyTime said_progress_;
};

}  // namespace

std::unique_ptr<Output> MakeConsoleOutput(OutputMode mode, Clock& clock) {
  return std::make_unique<ConsoleOutput>(mode, clock);
}

}  // namespace slipway
