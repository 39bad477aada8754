#include "launcher/provenance/container_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr auto kPodmanLimit = std::chrono::seconds(5);
// The header of a SIF file, after 32 bytes of the launch script: magic, version, architecture, id.
constexpr std::string_view kSifMagic{"SIF_MAGIC", 10};
constexpr std::size_t kMagicAt = 32;
constexpr std::size_t kIdAt = 48;
constexpr std::size_t kIdBytes = 16;

std::string DigestByPodman(const ContainerPlan& container) {
  SpawnOptions options;
  options.argv = {
      std::string(WordOf(container.runtime)), "image", "inspect", "--format", "{{.Digest}}", container.image};
  const auto answer = RunAndCapture(std::move(options), kPodmanLimit);
  const auto line = FirstLine(answer.output);
  return answer.status.Success() && line.starts_with("sha256:") ? std::string(line) : std::string();
}

}  // namespace

std::string SifIdOf(const fs::path& image) {
  char header[kIdAt + kIdBytes];
  const auto file = OpenFile(image, O_RDONLY | O_NONBLOCK);
  if (::read(file.get(), header, sizeof header) != static_cast<ssize_t>(sizeof header)) return {};
  if (std::string_view(header + kMagicAt, kSifMagic.size()) != kSifMagic) return {};
  std::string id = "sif:";
  for (const char c : std::string_view(header + kIdAt, kIdBytes))
    id += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return id;
}

ContainerFacts FactsOf(const ContainerPlan& container) {
  ContainerFacts facts{container.image, std::string(WordOf(container.runtime)), {}, 0, 0};
  try {
    struct stat info {};
    if (::stat(container.image.c_str(), &info) == 0) {
      facts.modified = static_cast<double>(info.st_mtim.tv_sec);
      if (S_ISREG(info.st_mode)) facts.bytes = static_cast<std::uint64_t>(info.st_size);
      if (S_ISREG(info.st_mode)) facts.digest = SifIdOf(container.image);
    } else if (container.runtime == ContainerRuntime::kPodman || container.runtime == ContainerRuntime::kPodmanHpc) {
      facts.digest = DigestByPodman(container);
    }
  } catch (const Error&) {  // the run itself says what is wrong with its image
  }
  return facts;
}

}  // namespace slipway::launcher
