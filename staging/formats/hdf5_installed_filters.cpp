// Which filters a dataset needs, and where to get those that are not installed.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "staging/formats/hdf5_library.h"

namespace slipway::staging {
namespace {

struct RegisteredFilter {
  int id;
  std::string_view name;
  std::string_view package;  ///< of Debian
};

/// Source: the HDF Group's list of registered filters; Debian 12.
constexpr std::array kRegisteredFilters = {
    RegisteredFilter{307, "bzip2", "hdf5-filter-plugin"},
    RegisteredFilter{32000, "lzf", "hdf5-plugin-lzf"},
    RegisteredFilter{32001, "blosc", "hdf5-filter-plugin-blosc-serial"},
    RegisteredFilter{32004, "lz4", "hdf5-filter-plugin"},
    RegisteredFilter{32008, "bitshuffle", "hdf5-filter-plugin"},
    RegisteredFilter{32013, "zfp", "hdf5-filter-plugin-zfp-serial"},
    RegisteredFilter{32015, "zstd", "python3-hdf5plugin"},
    RegisteredFilter{32017, "sz", "python3-hdf5plugin"},
    RegisteredFilter{32018, "fcidecomp", "python3-hdf5plugin"},
    RegisteredFilter{32026, "blosc2", "python3-hdf5plugin"},
};

const RegisteredFilter* FindRegistered(int id) {
  const auto* found = std::ranges::find(kRegisteredFilters, id, &RegisteredFilter::id);
  return found == kRegisteredFilters.end() ? nullptr : found;
}

/// "lzf (32000)"; the name in the file is free text, often with versions and addresses.
std::string TextOf(const Hdf5Filter& filter) {
  const auto* known = FindRegistered(filter.id);
  const auto name = known != nullptr ? std::string(known->name) : filter.name;
  return name.empty() ? std::to_string(filter.id) : fmt::format("{} ({})", name, filter.id);
}

std::string WhereToGet(const Hdf5Filter& filter) {
  constexpr std::string_view kPath = "name the folder with its plugin in HDF5_PLUGIN_PATH";
  const auto* known = FindRegistered(filter.id);
  if (known == nullptr) return fmt::format("install the plugin of HDF5 filter {}, or {}", filter.id, kPath);
  return fmt::format("install it (Debian: {}; PyPI: hdf5plugin), or {}", known->package, kPath);
}

}  // namespace

std::vector<Hdf5Filter> FiltersOf(const OpenDataset& dataset) {
  const PropertyId creation(H5Dget_create_plist(dataset.id.get()));
  std::vector<Hdf5Filter> filters;
  for (int i = 0; i < H5Pget_nfilters(creation.get()); ++i) {
    unsigned flags = 0, config = 0;
    std::array<unsigned, 32> parameters{};
    std::size_t used = parameters.size();
    std::array<char, 128> name{};
    const auto id = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &used, parameters.data(),
                                   name.size(), name.data(), &config);
    name.back() = '\0';
    used = std::min(used, parameters.size());
    filters.push_back({id, name.data(), {parameters.begin(), parameters.begin() + static_cast<long>(used)}});
  }
  return filters;
}

std::optional<Hdf5Unread> NeedsMissingFilter(const OpenDataset& dataset) {
  for (const auto& filter : FiltersOf(dataset)) {
    if (H5Zfilter_avail(filter.id) > 0) continue;
    return Hdf5Unread{std::string(dataset.name),
                      fmt::format("needs the filter {}, which is not installed", TextOf(filter)), WhereToGet(filter)};
  }
  return {};
}

}  // namespace slipway::staging
