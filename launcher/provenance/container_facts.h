/// Which container image a run uses, as exactly as can be read cheaply.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/plan/container.h"
#include "launcher/provenance/provenance.h"

namespace slipway::launcher {

/// The id in the header of a SIF file, "sif:" and 32 hexadecimal digits; empty for another file.
std::string SifIdOf(const std::filesystem::path& image);

/// The digest: of a SIF file its id, of an image that podman has stored what podman says. An image that is a plain file
/// has size and time. Cost: a start of podman, 5 s at most; no image is read.
ContainerFacts FactsOf(const ContainerPlan& container);

}  // namespace slipway::launcher
