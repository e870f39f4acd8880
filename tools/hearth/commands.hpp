#pragma once

#include "session.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// The command line while it is being read: where commands are added, and which one was chosen.
struct CommandLine {
    CLI::App app;
    Globals globals;
    std::function<int()> chosen;                               // runs the command and answers its exit code
    std::map<std::string, std::vector<std::string>*> rest_of;  // commands that hand what stands behind "--" on

    CommandLine();

    // A subcommand with --dir and --help. `examples`, one a line, and then `note` are shown below its help.
    CLI::App& add(const std::string& name, const std::string& sentence, const std::string& examples,
                  const std::string& note = "");

    // Takes "--" and what stands behind it from the words of the command line, where the command hands it on as it is.
    void take_rest(std::vector<std::string>& words);

    // Runs `run(globals, options)` when the command is the one that was given.
    template <class Options, class Run>
    void on_chosen(CLI::App& command, std::shared_ptr<Options> options, Run run)
    {
        command.callback([this, options = std::move(options), run] {
            chosen = [this, options, run] { return run(globals, *options); };
        });
    }
};

// Shared spellings, so that an option means the same everywhere.
CLI::Option* add_json_flag(CLI::App& command, bool& json);
CLI::Option* add_text(CLI::App& command, const std::string& name, std::string& value, const std::string& help,
                      const std::string& placeholder = "TEXT");
CLI::Option* add_size(CLI::App& command, const std::string& name, std::optional<std::uint64_t>& value,
                      const std::string& help);
CLI::Option* add_count(CLI::App& command, const std::string& name, std::optional<std::uint64_t>& value,
                       const std::string& help);
CLI::Option* add_duration(CLI::App& command, const std::string& name, std::optional<std::chrono::milliseconds>& value,
                          const std::string& help);

// One file each.
void add_put(CommandLine& line);
void add_get(CommandLine& line);
void add_ls(CommandLine& line);
void add_show(CommandLine& line);
void add_stats(CommandLine& line);
void add_gc(CommandLine& line);
void add_verify(CommandLine& line);
void add_rm(CommandLine& line);
void add_clear(CommandLine& line);
void add_export(CommandLine& line);
void add_import(CommandLine& line);
void add_bundle(CommandLine& line);
void add_recipes(CommandLine& line);
void add_build(CommandLine& line);
void add_build_worker(CommandLine& line);
void add_prewarm(CommandLine& line);
void add_doctor(CommandLine& line);
void add_config(CommandLine& line);
void add_compile(CommandLine& line);
void add_why(CommandLine& line);
void add_run(CommandLine& line);
void add_ptxas(CommandLine& line);
void add_remote(CommandLine& line);
void add_push(CommandLine& line);
void add_pull(CommandLine& line);
void add_keygen(CommandLine& line);

}  // namespace hearth::cli
