#include "launcher/provenance/host_facts.h"

#include <charconv>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/process_identity.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

std::string TextIn(const fs::path& path) try { return ReadFile(path); } catch (const Error&) {
  return {};
}

/// The values of the lines "name : value".
std::vector<std::string> ValuesOf(const std::string& text, std::string_view name) {
  std::vector<std::string> values;
  LineWords lines(text);
  while (!lines.rest().empty()) {
    const std::string_view line = lines.Word('\n');
    const auto colon = line.find(':');
    if (colon != line.npos && Trim(line.substr(0, colon)) == name) values.emplace_back(Trim(line.substr(colon + 1)));
  }
  return values;
}

/// ARM has no name of the model, but numbers of who made which part.
std::string CpuOf(const std::string& cpuinfo) {
  if (const auto models = ValuesOf(cpuinfo, "model name"); !models.empty()) return models.front();
  const auto makers = ValuesOf(cpuinfo, "CPU implementer");
  const auto parts = ValuesOf(cpuinfo, "CPU part");
  return makers.empty() || parts.empty() ? std::string() : "implementer " + makers.front() + " part " + parts.front();
}

std::uint64_t MemoryOf(const std::string& meminfo) {
  const auto values = ValuesOf(meminfo, "MemTotal");  // "16384 kB"
  std::uint64_t kib = 0;
  if (!values.empty()) std::from_chars(values.front().data(), values.front().data() + values.front().size(), kib);
  return kib * 1024;
}

std::vector<std::string> NvidiaGpus(const fs::path& root) {
  std::vector<std::string> gpus;
  for (const auto& device : EntriesOf(root / "proc/driver/nvidia/gpus")) {
    const auto models = ValuesOf(TextIn(device / "information"), "Model");
    if (!models.empty()) gpus.push_back(models.front());
  }
  return gpus;
}

/// Nodes of the topology without a name are processors.
std::vector<std::string> AmdGpus(const fs::path& root) {
  std::vector<std::string> gpus;
  for (const auto& node : EntriesOf(root / "sys/class/kfd/kfd/topology/nodes")) {
    const auto text = TextIn(node / "name");
    if (const auto name = Trim(text); !name.empty()) gpus.emplace_back(name);
  }
  return gpus;
}

}  // namespace

HostFacts HostFactsOf(const fs::path& root) {
  const auto cpuinfo = TextIn(root / "proc/cpuinfo");
  HostFacts facts;
  facts.host = HostName();
  facts.cpu = CpuOf(cpuinfo);
  facts.cpus = static_cast<int>(ValuesOf(cpuinfo, "processor").size());
  facts.memory_bytes = MemoryOf(TextIn(root / "proc/meminfo"));
  facts.gpus = NvidiaGpus(root);
  if (facts.gpus.empty()) facts.gpus = AmdGpus(root);
  return facts;
}

}  // namespace slipway::launcher
