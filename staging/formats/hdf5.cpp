#include "staging/formats/hdf5.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/install.h"
#include "staging/formats/hdf5_module.h"

namespace slipway::staging {

namespace {

struct Module {
  Hdf5Factory open = nullptr;
  Hdf5Factory create = nullptr;
};

Hdf5Factory FindSymbol(void* library, const char* name) {
  void* symbol = ::dlsym(library, name);
  if (symbol == nullptr) {
    throw Error(ErrorKind::kEnvironment, fmt::format("the HDF5 module is of another version: it has no {}", name),
                "install this version of Slipway again");
  }
  return reinterpret_cast<Hdf5Factory>(symbol);
}

/// Beside the library that this code is part of: the program may be anything, Python for example. A program that has it
/// inside finds it in its installation.
std::filesystem::path ModulePath() {
  static const char here = 0;
  const std::filesystem::path module = std::filesystem::path("slipway") / "libslipway_hdf5.so";
  Dl_info info{};
  std::error_code error;
  if (::dladdr(&here, &info) != 0 && info.dli_fname != nullptr) {
    const auto beside = std::filesystem::absolute(info.dli_fname, error).parent_path() / module;
    if (std::filesystem::exists(beside, error)) return beside;
  }
  return LibraryDirectory() / module;
}

/// Never unloaded: HDF5 leaves handlers that run at exit.
Module LoadModule() {
  const auto path = ModulePath();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot load the HDF5 module: {}", reason == nullptr ? "unknown reason" : reason),
                "HDF5 files need lib/slipway/libslipway_hdf5.so of this installation and the HDF5 library (Debian: "
                "libhdf5-103-1)");
  }
  return {FindSymbol(library, kHdf5OpenSymbol), FindSymbol(library, kHdf5CreateSymbol)};
}

const Module& LoadedModule() {
  static const Module module = LoadModule();  // tried again at the next call if it throws
  return module;
}

}  // namespace

std::unique_ptr<Hdf5File> OpenHdf5(const std::filesystem::path& path) {
  return std::unique_ptr<Hdf5File>(LoadedModule().open(path.c_str()));
}

std::unique_ptr<Hdf5File> CreateHdf5(const std::filesystem::path& path) {
  return std::unique_ptr<Hdf5File>(LoadedModule().create(path.c_str()));
}

}  // namespace slipway::staging
