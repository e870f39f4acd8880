#pragma once

#include "hearth/bundle.hpp"
#include "terminal/command_line.hpp"

#include <string>

namespace hearth::cli {

// The parts of 'hearth bundle' that only read bundles.
void add_bundle_ls(Command& bundle);
void add_bundle_verify(Command& bundle);
// And those that make an image layout of one, and one of that.
void add_bundle_oci(Command& bundle);
void add_bundle_from_oci(Command& bundle);

// Adds --sign-with; signing() loads that key, or else the one that the settings name, or none. Fails with a sentence.
void add_sign_with(Command& command, std::string& path);
bundles::WriteOptions signing(const Globals& globals, const std::string& path);

}  // namespace hearth::cli
