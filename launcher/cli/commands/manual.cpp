#include "launcher/cli/commands/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/install.h"
#include "launcher/plan/environment_table.h"

namespace slipway::launcher {
namespace {

constexpr std::string_view kIntroduction = R"(# Commands

This page lists every command of `slipway`, with its options. `slipway COMMAND --help` prints the same for one command;
`man slipway-COMMAND` shows it where Slipway is installed. `slipway manual` writes this page.
)";

/// "slipway trials best".
std::string Called(const ManualCommand& command) {
  return command.name.empty() ? "slipway" : "slipway " + command.name;
}

/// "slipway-trials-best".
std::string PageName(const ManualCommand& command) {
  auto name = Called(command);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string Synopsis(const ManualCommand& command) {
  auto line = Called(command);
  if (!command.options.empty()) line += " [OPTIONS]";
  for (const auto& word : command.words) line += word.required ? " " + word.names : " [" + word.names + "]";
  if (command.has_commands) line += " COMMAND";
  return line;
}

/// "Number of files (required; default: 4)".
std::string Meaning(const ManualOption& option, bool is_word) {
  auto text = option.what;
  if (option.required && !is_word) text += " (required)";
  if (!option.usual.empty()) text += fmt::format(" (default: {})", option.usual);
  return text;
}

// ---- Markdown

/// "-n,--limit" is "`-n`, `--limit UINT`".
std::string MarkdownNames(const ManualOption& option) {
  auto names = option.names;
  for (std::size_t at = 0; (at = names.find(',', at)) != std::string::npos; at += 4) names.replace(at, 1, "`, `");
  return fmt::format("`{}{}{}`", names, option.value.empty() ? "" : " ", option.value);
}

std::string MarkdownList(const std::vector<ManualOption>& options, bool are_words) {
  std::string text;
  for (const auto& option : options) {
    text += fmt::format("- {}: {}\n", MarkdownNames(option), Meaning(option, are_words));
  }
  return text.empty() ? text : text + "\n";
}

/// Without the two blanks that `--help` puts before each line.
std::string Dedented(std::string text) {
  if (text.starts_with("  ")) text.erase(0, 2);
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos; ++at) text.erase(at + 1, 2);
  return text;
}

std::string MarkdownSection(const ManualCommand& command) {
  auto text = fmt::format("\n## {}\n\n{}.\n\n```\n{}\n```\n\n", Called(command), command.what, Synopsis(command));
  text += MarkdownList(command.words, true) + MarkdownList(command.options, false);
  if (!command.examples.empty()) text += fmt::format("Examples:\n\n```\n{}\n```\n\n", Dedented(command.examples));
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

// ---- roff

/// Text in which nothing is an instruction.
std::string Roff(std::string_view text) {
  std::string roff;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) roff += "\\&";
    begins_line = c == '\n';
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      roff += c;
    }
  }
  return roff;
}

std::string RoffList(const std::vector<ManualOption>& options, bool are_words) {
  std::string text;
  for (const auto& option : options) {
    text += fmt::format(".TP\n\\fB{}\\fR", Roff(option.names));
    if (!option.value.empty()) text += fmt::format(" \\fI{}\\fR", Roff(option.value));
    text += "\n" + Roff(Meaning(option, are_words)) + "\n";
  }
  return text;
}

std::string SeeAlso(const ManualCommand& command, const std::vector<ManualCommand>& others) {
  std::vector<std::string> pages;
  for (const auto& other : others) {
    const bool is_near = command.name.empty() || other.name.empty() || other.name.starts_with(command.name + " ") ||
                         command.name.starts_with(other.name + " ");
    if (is_near && other.name != command.name) pages.push_back(fmt::format("\\fB{}\\fR(1)", Roff(PageName(other))));
  }
  return fmt::format("{}", fmt::join(pages, ",\n"));
}

}  // namespace

std::string ManualPage(const std::vector<ManualCommand>& commands) {
  std::string text(kIntroduction);
  for (const auto& command : commands) text += MarkdownSection(command);
  return text;
}

std::string ManPage(const ManualCommand& command, const std::vector<ManualCommand>& others) {
  auto text = fmt::format(".TH \"{}\" 1 \"\" \"slipway {}\" \"Slipway\"\n", Roff(PageName(command)), Version());
  text += fmt::format(".SH NAME\n{} \\- {}\n", Roff(PageName(command)), Roff(command.what));
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n", Roff(Synopsis(command)));
  if (!command.words.empty()) text += ".SH ARGUMENTS\n" + RoffList(command.words, true);
  if (!command.options.empty()) text += ".SH OPTIONS\n" + RoffList(command.options, false);
  if (!command.examples.empty()) text += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", Roff(command.examples));
  return text + fmt::format(".SH SEE ALSO\n{}\n", SeeAlso(command, others));
}

int Manual(const ManualOptions& options, Session& session) {
  if (options.man.empty()) {
    const auto page = options.environment ? EnvironmentPage() : ManualPage(options.commands);
    session.output.Print({Json{{"schema", "slipway.manual/1"}, {"markdown", page}}, page, page});
    return 0;
  }
  std::filesystem::create_directories(options.man);
  Json pages = Json::array();
  for (const auto& command : options.commands) {
    const auto file = options.man / (PageName(command) + ".1");
    WriteFile(file, ManPage(command, options.commands));
    pages.push_back(file.string());
  }
  const auto text = fmt::format("{} man pages in {}", pages.size(), options.man.string());
  session.output.Print({Json{{"schema", "slipway.manual/1"}, {"pages", pages}}, text, options.man.string()});
  return 0;
}

}  // namespace slipway::launcher
