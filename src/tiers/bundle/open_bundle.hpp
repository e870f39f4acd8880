#pragma once

#include "base/files.hpp"
#include "format/bundle_file.hpp"
#include "hearth/trust.hpp"

#include <memory>
#include <string>

namespace hearth::tiers {

// Opens a bundle that may be used. Links on the way to it are followed. If signatures are demanded, one of the trusted
// keys must have signed it. An error is a sentence that says what to do.
Result<std::unique_ptr<format::BundleFile>> open_bundle(base::Files& files, const std::string& path,
                                                        const Trust& trust);

}  // namespace hearth::tiers
