#include "launcher/cluster/module/munge.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

/// MUNGE_OPT_SOCKET of munge.h.
constexpr int kSocketOption = 8;

/// libmunge, which is here when Slurm's plugin auth_munge is. Source: munge.h of munge 0.5.
struct Munge {
  void* (*create)() = nullptr;
  void (*destroy)(void*) = nullptr;
  int (*set)(void*, int, ...) = nullptr;
  int (*encode)(char**, void*, const void*, int) = nullptr;
  const char* (*context_error)(void*) = nullptr;

  bool complete() const { return create && destroy && set && encode && context_error; }
};

template <class Function>
void Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

Munge LoadMunge() {
  Munge munge;
  void* library = ::dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return munge;
  Find(library, "munge_ctx_create", munge.create);
  Find(library, "munge_ctx_destroy", munge.destroy);
  Find(library, "munge_ctx_set", munge.set);
  Find(library, "munge_encode", munge.encode);
  Find(library, "munge_ctx_strerror", munge.context_error);
  return munge;
}

}  // namespace

std::string_view MungeSocketIn(std::string_view auth_info) {
  constexpr std::string_view kName = "socket=";
  while (!auth_info.empty()) {
    const auto entry = auth_info.substr(0, auth_info.find(','));
    if (entry.starts_with(kName)) return entry.substr(kName.size());
    auth_info.remove_prefix(std::min(entry.size() + 1, auth_info.size()));
  }
  return {};
}

void CheckMunge(std::string_view auth_type, std::string_view auth_info) {
  if (auth_type != "auth/munge") return;
  const auto munge = LoadMunge();
  if (!munge.complete()) return;
  const std::unique_ptr<void, void (*)(void*)> context(munge.create(), munge.destroy);
  const std::string socket(MungeSocketIn(auth_info));
  if (!socket.empty()) munge.set(context.get(), kSocketOption, socket.c_str());
  char* credential = nullptr;
  const int result = munge.encode(&credential, context.get(), nullptr, 0);
  std::free(credential);
  if (result == 0) return;
  const char* reason = munge.context_error(context.get());
  throw SlurmError({SlurmTrouble::kAuthentication, 0, reason != nullptr ? reason : "no reason given", ""});
}

}  // namespace slipway::launcher
