#pragma once

#include "hearth/bundle.hpp"
#include "terminal/command_line.hpp"

#include <string>

namespace hearth::cli {

// Parts of 'hearth bundle' that only read one.
void add_bundle_ls(Command& bundle);
void add_bundle_verify(Command& bundle);

// Fails where something lies in the place of a bundle that is to be written, and is none.
void keep_other_files(const std::string& path);

// --sign-with, and what it comes to: that key, or the one that the settings name, or none. Fails with a sentence.
void add_sign_with(Command& command, std::string& path);
bundles::WriteOptions signing(const Globals& globals, const std::string& path);

}  // namespace hearth::cli
