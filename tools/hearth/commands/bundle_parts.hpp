#pragma once

#include "hearth/bundle.hpp"
#include "terminal/command_line.hpp"

#include <string>
#include <vector>

namespace hearth::cli {

// The parts of 'hearth bundle' that only read bundles.
void add_bundle_ls(Command& bundle);
void add_bundle_verify(Command& bundle);
// And those that make an image layout of one, and one of that.
void add_bundle_oci(Command& bundle);
void add_bundle_from_oci(Command& bundle);

// Adds --sign-with, and finds the file: that one, or the one that the settings name; empty: none.
void add_sign_with(Command& command, std::string& path);
std::string key_file(const Globals& globals, const std::string& path);
// Loads that key, and the keys of others that the settings trust. Fails with a sentence.
Trust trust_of(const std::vector<std::string>& texts);
bundles::WriteOptions signing(const Globals& globals, const std::string& path);

}  // namespace hearth::cli
