/// The output port: every word a command prints goes through it.
///
/// Results go to stdout; progress, remarks and errors go to stderr. `--json` makes a result one document, `--quiet` the
/// shortest useful form. Text for people may quote programs, so it never moves a terminal's cursor or changes its
/// colours (terminal_text.h). Exceptions: what Stream passes on, and `--quiet`, which is for scripts.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "core/clock.h"
#include "core/error.h"
#include "core/json.h"

namespace slipway {

enum class OutputMode { kHuman, kJson, kQuiet };

/// What a command answers, in its three forms.
struct Result {
  const Json& document;    ///< carries "schema": "slipway.<thing>/1"
  std::string_view text;   ///< for people; a final newline is added when missing
  std::string_view brief;  ///< for --quiet; empty prints nothing
};

class Output {
 public:
  virtual ~Output() = default;
  virtual OutputMode mode() const = 0;

  /// The answer of a command.
  virtual void Print(const Result& result) = 0;
  /// One element of an answer that grows while one watches: `text` for people, `document` as one JSON line.
  virtual void Stream(const Json& document, std::string_view text) = 0;
  /// A remark on the way; not in quiet mode.
  virtual void Say(std::string_view line) = 0;
  /// "warning: ..."; in every mode.
  virtual void Warn(std::string_view line) = 0;
  /// "error: ..." with context and next step; in JSON mode a `slipway.error/1` document on stdout as well.
  virtual void Fail(const Error& error) = 0;
  /// Replaces the progress line on a terminal; elsewhere, and where TERM is dumb, a line every few seconds at most.
  /// Empty clears it.
  virtual void Progress(std::string_view line) = 0;

  /// The columns of a line of an answer that the terminal does not wrap. None: it goes elsewhere, nothing is cut.
  virtual std::optional<int> Columns() const { return {}; }
  /// The errno of the first answer that could not be written, except to a reader that has left; 0: there is none.
  virtual int WriteError() const { return 0; }
};

/// `slipway.error/1`.
Json ErrorDocument(const Error& error);

/// Writes to stdout and stderr of this process; colours only on a terminal and without NO_COLOR.
std::unique_ptr<Output> MakeConsoleOutput(OutputMode mode, Clock& clock = SystemClock());

}  // namespace slipway
