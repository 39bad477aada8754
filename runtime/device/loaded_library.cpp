#include "runtime/device/loaded_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace slipway::runtime {
namespace {

/// What a library calls itself, whatever its file is called; empty: nothing.
std::string_view SonameOf(const dl_phdr_info& library) {
  const auto base = library.dlpi_addr;
  const char* texts = nullptr;
  std::optional<std::size_t> soname;
  for (const auto& segment : std::span(library.dlpi_phdr, library.dlpi_phnum)) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base + segment.p_vaddr); entry->d_tag != DT_NULL;
         ++entry) {
      const auto value = entry->d_un.d_val;
      // The GNU linker replaces what is counted from the start of the library by addresses; others leave it.
      if (entry->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(value < base ? base + value : value);
      if (entry->d_tag == DT_SONAME) soname = value;
    }
  }
  return texts != nullptr && soname ? texts + *soname : std::string_view();
}

struct SearchOfNames {
  std::span<const char* const> names;
  std::size_t first;  ///< the first of them that was found, or the count
  std::string path;
};

int LookAtLibrary(dl_phdr_info* library, std::size_t, void* data) {
  auto& search = *static_cast<SearchOfNames*>(data);
  const std::string_view path = library->dlpi_name;
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return 0;  // the program, or what the kernel gives it
  const auto file = path.substr(slash + 1);
  const auto soname = SonameOf(*library);
  const auto names = search.names.first(search.first);
  const auto found = std::ranges::find_if(names, [&](const char* name) { return name == file || name == soname; });
  if (found == names.end()) return 0;
  search.first = static_cast<std::size_t>(found - names.begin());
  search.path = path;
  return 0;
}

}  // namespace

std::string PathOfLoaded(std::span<const char* const> names) {
  SearchOfNames search{names, names.size(), {}};
  ::dl_iterate_phdr(LookAtLibrary, &search);
  return search.path;
}

void* OpenLoaded(std::span<const char* const> names) {
  const auto path = PathOfLoaded(names);
  return path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace slipway::runtime
