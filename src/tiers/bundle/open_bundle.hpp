#pragma once

#include "base/files.hpp"
#include "format/bundle_file.hpp"
#include "hearth/trust.hpp"

#include <memory>
#include <string>

namespace hearth::tiers {

// A bundle that may be used: links on the way to it are followed, and where signatures are demanded one of the trusted
// keys has signed it. An error is a sentence that says what to do.
Result<std::unique_ptr<format::BundleFile>> open_bundle(base::Files& files, const std::string& path,
                                                        const Trust& trust);

}  // namespace hearth::tiers
