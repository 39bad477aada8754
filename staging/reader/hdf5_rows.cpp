#include "staging/reader/hdf5_rows.h"

#include <utility>

namespace slipway::staging {

namespace {

/// By the library.
class LibraryRows final : public Hdf5Rows {
 public:
  LibraryRows(std::shared_ptr<Hdf5File> file, Hdf5Dataset dataset)
      : Hdf5Rows(ValuesPerRow(dataset) * SizeOf(dataset.type)), file_(std::move(file)), dataset_(std::move(dataset)) {}

  void Read(std::uint64_t row, std::span<std::byte> out, std::vector<std::byte>&,
            std::vector<std::byte>&) const override {
    file_->ReadRows(dataset_.name, row, row + 1, dataset_.type, out);
  }

 private:
  std::shared_ptr<Hdf5File> file_;
  Hdf5Dataset dataset_;
};

}  // namespace

std::unique_ptr<Hdf5Rows> OpenHdf5Rows(std::shared_ptr<Hdf5File> file, const std::filesystem::path&,
                                       const Hdf5Dataset& dataset) {
  return std::make_unique<LibraryRows>(std::move(file), dataset);
}

}  // namespace slipway::staging
