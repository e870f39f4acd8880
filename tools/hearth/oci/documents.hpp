#pragma once

#include "hearth/bundle.hpp"
#include "hearth/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

// The JSON of an OCI image layout that holds one bundle. Registries of container images carry it as any image.
//
//   FOLDER/oci-layout            {"imageLayoutVersion":"1.0.0"}
//   FOLDER/index.json            manifests: one descriptor, of the manifest
//   FOLDER/blobs/sha256/DIGEST   the manifest: config, and layers with one descriptor, of the bundle
//   FOLDER/blobs/sha256/DIGEST   the config: an image of no machine, whose labels are the manifest's annotations
//   FOLDER/blobs/sha256/DIGEST   the bundle, byte for byte
//
// A descriptor is {"mediaType", "digest":"sha256:" and 64 digits, "size"}. What is written depends on the bundle alone,
// so that the same bundle has the same digests everywhere. What is read may come from a stranger: a blob is found by
// digits only, never by a path.

namespace hearth::cli::oci {

inline constexpr std::string_view k_layout = R"({"imageLayoutVersion":"1.0.0"})";
inline constexpr std::string_view k_bundle_type = "application/vnd.hearth.bundle.v1";
inline constexpr std::string_view k_config_type = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view k_manifest_type = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::uint64_t k_max_document = 4U << 20U;  // bytes of JSON; registries take no larger manifest

struct Descriptor {
    std::string media_type;
    std::string digest;  // 64 hexadecimal digits, lower case: the blob's file
    std::uint64_t size = 0;
};

std::string config_of(const bundles::Facts& facts, const Descriptor& bundle);
std::string manifest_of(const bundles::Facts& facts, const Descriptor& config, const Descriptor& bundle);
std::string index_of(const Descriptor& manifest);

// From what a layout has. An error is a sentence about the layout in `folder`.
Status check_layout(std::string_view text, const std::string& folder);
Result<Descriptor> manifest_in(std::string_view index, const std::string& folder);
Result<Descriptor> bundle_in(std::string_view manifest, const std::string& folder);

}  // namespace hearth::cli::oci
