#pragma once

#include "commands.hpp"
#include "hearth/bundle.hpp"

#include <string>
#include <vector>

namespace hearth::cli {

// A subcommand of `hearth bundle`, with its examples below its help.
CLI::App& add_part(CLI::App& bundle, const std::string& name, const std::string& sentence, const std::string& examples,
                   const std::string& note = "");

// One file each.
void add_bundle_create(CommandLine& line, CLI::App& bundle);
void add_bundle_ls(CommandLine& line, CLI::App& bundle);
void add_bundle_verify(CommandLine& line, CLI::App& bundle);
void add_bundle_merge(CommandLine& line, CLI::App& bundle);
void add_bundle_diff(CommandLine& line, CLI::App& bundle);

// Fails where something lies in the place of a bundle that is to be written, and is none.
void keep_other_files(const std::string& path);

// --sign-with, and what it comes to: that key, or the one that the settings name, or none. Fails with a sentence.
CLI::Option* add_sign_with(CLI::App& command, std::string& path);
bundles::WriteOptions signing(const Globals& globals, const std::string& path);

}  // namespace hearth::cli
