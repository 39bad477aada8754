/// Texts that are read (files, overrides), places in them, and diagnostics for those places.
#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/spec/load.h"

namespace slipway::launcher {

/// A place in one of the Sources. The zero place means: the source as a whole.
struct Place {
  int source = 0;
  int line = 0;    ///< from 1
  int column = 0;  ///< bytes before it in its line
  int length = 1;  ///< bytes
};

struct SourceText {
  std::string name;
  std::string text;
  std::filesystem::path directory;  ///< where its relative paths start
  bool is_override = false;         ///< a `--set` of the command line
  std::vector<std::size_t> line_starts = {};

  /// Line from 1, without its end; empty outside the text.
  std::string_view Line(int line) const;
};

class Sources {
 public:
  int Add(std::string name, std::string text, std::filesystem::path directory);
  /// `text` is KEY=VALUE; relative paths start at the working directory.
  int AddOverride(std::string text);
  const SourceText& operator[](int index) const { return texts_[static_cast<std::size_t>(index)]; }

 private:
  std::deque<SourceText> texts_;
};

/// Collects errors and warnings. Work continues after each, so that the user sees all of them at once.
class Report {
 public:
  explicit Report(const Sources& sources) : sources_(sources) {}

  void Error(const Place& place, std::string message, std::string suggestion = {});
  void Warn(const Place& place, std::string message);
  bool HasErrors() const { return !errors_.empty(); }
  /// Further errors are dropped.
  bool IsFull() const;
  /// In the order of the sources and lines; the first 100.
  std::vector<Diagnostic> TakeErrors() { return Sorted(std::move(errors_)); }
  std::vector<Diagnostic> TakeWarnings() { return Sorted(std::move(warnings_)); }
  /// A diagnostic for `place` without a message.
  Diagnostic At(const Place& place) const;

 private:
  struct Remark {
    Place place;
    Diagnostic diagnostic;
  };
  static std::vector<Diagnostic> Sorted(std::vector<Remark> remarks);

  const Sources& sources_;
  std::vector<Remark> errors_;
  std::vector<Remark> warnings_;
};

/// `text` in quotes for a message: shortened, without control characters.
std::string Quoted(std::string_view text);

}  // namespace slipway::launcher
