#pragma once

#include "hearth/bundle.hpp"
#include "hearth/tier.hpp"

#include <cstdint>
#include <string>

namespace hearth::cli::oci {

struct Image {
    std::string digest;  // of its manifest, by which registries know it: "sha256:..."
    bundles::Facts facts;
};

// Writes a bundle as an image layout. A folder that holds anything else is left as it is. index.json comes last, so
// that a folder with one is whole.
Result<Image> write_layout(const std::string& folder, const std::string& bundle, const Progress& progress);

// Writes the bundle of an image layout to `path`, if every digest on the way to it is right; what was there stays
// otherwise. Nothing is followed that is a link, or not a plain file.
Result<Image> read_layout(const std::string& path, const std::string& folder, const Progress& progress);

}  // namespace hearth::cli::oci
