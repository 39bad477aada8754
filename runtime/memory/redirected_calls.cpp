#include "runtime/memory/redirected_calls.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slipway::runtime {
namespace {

#if defined(__x86_64__)
bool IsEntryOfFunction(std::uint32_t type) { return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT; }
#elif defined(__aarch64__)
bool IsEntryOfFunction(std::uint32_t type) { return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT; }
#else
bool IsEntryOfFunction(std::uint32_t) { return false; }
#endif

/// A library as it lies in memory.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const dl_phdr_info& info) : base_(info.dlpi_addr), segments_(info.dlpi_phdr, info.dlpi_phnum) {
    for (const auto& segment : segments_) {
      if (segment.p_type == PT_DYNAMIC) ReadDynamic(reinterpret_cast<const ElfW(Dyn)*>(base_ + segment.p_vaddr));
    }
  }

  /// The entries that hold the address of `function`.
  std::vector<void**> EntriesOf(std::string_view function) const {
    std::vector<void**> entries;
    for (const auto& table : {calls_, others_}) {
      for (const auto& relocation : table) {
        if (!IsEntryOfFunction(static_cast<std::uint32_t>(relocation.r_info & 0xffffffff))) continue;
        if (function != names_ + symbols_[relocation.r_info >> 32].st_name) continue;
        entries.push_back(reinterpret_cast<void**>(base_ + relocation.r_offset));
      }
    }
    return entries;
  }

  /// Whether an address is inside: that of a function that was not called yet, where the linker looks for it late.
  bool Contains(const void* address) const { return IsIn(PT_LOAD, address); }
  bool MadeReadOnly(const void* address) const { return IsIn(PT_GNU_RELRO, address); }

 private:
  using Relocations = std::span<const ElfW(Rela)>;

  bool IsIn(std::uint32_t type, const void* address) const {
    const auto at = reinterpret_cast<ElfW(Addr)>(address);
    return std::ranges::any_of(segments_, [&](const auto& segment) {
      const auto first = base_ + segment.p_vaddr;
      return segment.p_type == type && at >= first && at < first + segment.p_memsz;
    });
  }

  void ReadDynamic(const ElfW(Dyn) * entry) {
    std::size_t bytes_of_calls = 0;
    std::size_t bytes_of_others = 0;
    const ElfW(Rela)* calls = nullptr;
    const ElfW(Rela)* others = nullptr;
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto value = entry->d_un.d_val;
      // The GNU linker replaces what is counted from the start of the library by addresses; others leave it.
      const auto address = value < base_ ? base_ + value : value;
      if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
      if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address);
      if (entry->d_tag == DT_JMPREL) calls = reinterpret_cast<const ElfW(Rela)*>(address);
      if (entry->d_tag == DT_RELA) others = reinterpret_cast<const ElfW(Rela)*>(address);
      if (entry->d_tag == DT_PLTRELSZ) bytes_of_calls = value;
      if (entry->d_tag == DT_RELASZ) bytes_of_others = value;
    }
    if (symbols_ == nullptr || names_ == nullptr) return;
    if (calls != nullptr) calls_ = {calls, bytes_of_calls / sizeof *calls};
    if (others != nullptr) others_ = {others, bytes_of_others / sizeof *others};
  }

  ElfW(Addr) base_;
  std::span<const ElfW(Phdr)> segments_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  Relocations calls_;
  Relocations others_;
};

bool Write(const LoadedLibrary& library, void** entry, void* value) {
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(entry) / page_bytes * page_bytes);
  if (::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(entry, value, __ATOMIC_RELEASE);  // others may be calling
  if (library.MadeReadOnly(entry)) ::mprotect(page, page_bytes, PROT_READ);
  return true;
}

bool Redirect(const LoadedLibrary& library, std::span<const Redirection> calls) {
  std::vector<std::vector<void**>> entries;
  for (const auto& call : calls) {
    entries.push_back(library.EntriesOf(call.function));
    const auto usual = [&](void* const* entry) { return *entry == call.usual || library.Contains(*entry); };
    if (entries.back().empty() || !std::ranges::all_of(entries.back(), usual)) return false;
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (void** entry : entries[i]) {
      if (!Write(library, entry, calls[i].instead)) return false;
    }
  }
  return true;
}

bool IsFileOf(std::string_view path, std::string_view library) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return path == library || (path.starts_with(library) && path[library.size()] == '.');
}

struct Search {
  std::string_view library;
  std::span<const Redirection> calls;
  bool done = false;
};

int VisitLibrary(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!IsFileOf(info->dlpi_name, search.library)) return 0;
  search.done = Redirect(LoadedLibrary(*info), search.calls);
  return 1;
}

}  // namespace

bool RedirectCalls(std::string_view library, std::span<const Redirection> calls) {
  Search search{library, calls};
  ::dl_iterate_phdr(VisitLibrary, &search);
  return search.done;
}

}  // namespace slipway::runtime
