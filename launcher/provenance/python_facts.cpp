#include "launcher/provenance/python_facts.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/process.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr auto kPythonLimit = std::chrono::seconds(5);
constexpr std::size_t kMostPackages = 5'000;

/// A folder such as numpy-1.24.2.dist-info says name and version; no file in it is read.
constexpr const char* kQuestion = R"(import json, os, sys
found = {}
for place in sys.path[1:]:
    try:
        names = os.listdir(place)
    except OSError:
        continue
    for name in sorted(names):
        stem, ending = os.path.splitext(name)
        if ending in (".dist-info", ".egg-info") and "-" in stem:
            package, version = stem.split("-")[:2]
            found.setdefault(package.lower(), version)
print(json.dumps({"executable": sys.executable, "version": sys.version.split()[0], "packages": found}))
)";

bool IsPython(const fs::path& program) {
  auto name = program.filename().string();
  if (!name.starts_with("python")) return false;
  return name.find_first_not_of("0123456789.", std::string_view("python").size()) == name.npos;
}

/// As execvp finds it, from the folder of the spec.
std::optional<fs::path> ProgramAt(const std::string& word, const fs::path& directory) {
  return FindProgram(word.find('/') == word.npos ? word : (directory / word).string());
}

/// The words behind "#!"; empty without any.
std::vector<std::string> WordsOfFirstLine(const fs::path& program) try {
  char start[256];
  const auto file = OpenFile(program, O_RDONLY | O_NONBLOCK);
  const auto count = ::read(file.get(), start, sizeof start);
  std::string_view text(start, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (!text.starts_with("#!")) return {};
  text = text.substr(2, text.find('\n') - 2);
  std::vector<std::string> words;
  LineWords line(text);
  while (!line.rest().empty()) {
    if (auto word = line.Word(); !word.empty()) words.emplace_back(word);
  }
  return words;
} catch (const Error&) {
  return {};
}

}  // namespace

std::optional<fs::path> PythonIn(const std::vector<std::string>& words, const fs::path& directory) {
  if (words.empty()) return {};
  const auto program = ProgramAt(words.front(), directory);
  if (!program || IsPython(*program)) return program && IsPython(words.front()) ? program : std::nullopt;
  auto behind = WordsOfFirstLine(*program);
  if (!behind.empty() && fs::path(behind.front()).filename() == "env") behind.erase(behind.begin());
  return !behind.empty() && IsPython(behind.front()) ? ProgramAt(behind.front(), directory) : std::nullopt;
}

std::optional<PythonFacts> PythonOf(const std::vector<std::string>& words, const fs::path& directory,
                                    std::vector<std::string>& warnings) try {
  const auto python = PythonIn(words, directory);
  if (!python) return {};
  SpawnOptions options;
  options.argv = {python->string(), "-c", kQuestion};
  options.working_directory = "/";
  const auto answer = RunAndCapture(std::move(options), kPythonLimit);
  const auto facts = Json::parse(answer.output, nullptr, false);
  if (!answer.status.Success() || !facts.is_object()) {
    throw Error(ErrorKind::kEnvironment, "'" + python->string() + "' did not say its version",
                "try it: " + python->string() + " --version");
  }
  PythonFacts python_facts{facts.at("executable").get<std::string>(), facts.at("version").get<std::string>(), {}};
  for (const auto& [name, version] : facts.at("packages").items()) {
    if (python_facts.packages.size() < kMostPackages) python_facts.packages[name] = version.get<std::string>();
  }
  return python_facts;
} catch (const std::exception& error) {
  warnings.emplace_back(error.what());
  return {};
}

}  // namespace slipway::launcher
