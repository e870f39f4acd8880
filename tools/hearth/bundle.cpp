#include "bundle.hpp"

#include "exit.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace hearth::cli {

CLI::App& add_part(CLI::App& bundle, const std::string& name, const std::string& sentence, const std::string& examples,
                   const std::string& note)
{
    CLI::App& part = *bundle.add_subcommand(name, sentence);
    part.footer("Examples:\n" + examples + (note.empty() ? "" : "\n\n" + note));
    return part;
}

void keep_other_files(const std::string& path)
{
    static constexpr std::string_view k_magic = "\x89HRTHBN\n";
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
        return;  // whoever writes it says so
    std::array<char, k_magic.size()> first{};
    std::ifstream file(path, std::ios::binary);
    if (!file.read(first.data(), 1))
        return;
    file.read(first.data() + 1, static_cast<std::streamsize>(first.size()) - 1);
    if (std::string_view(first.data(), first.size()) != k_magic)
        fail(fmt::format("{} is there and is no bundle; it is left as it is. Choose another file.", in_quotes(path)));
}

CLI::Option* add_sign_with(CLI::App& command, std::string& path)
{
    return add_text(command, "--sign-with", path,
                    "Sign it with this key of 'hearth keygen' (otherwise HEARTH_SIGN_WITH)", "FILE");
}

bundles::WriteOptions signing(const Globals& globals, const std::string& path)
{
    const std::string file = path.empty() ? globals.settings().options.sign_with.value_or("") : path;
    if (file.empty())
        return {};
    Result<SigningKey> key = SigningKey::load(file);
    if (!key)
        fail(key.error().message);
    return {.sign_with = *std::move(key)};
}

void add_bundle(CommandLine& line)
{
    CLI::App& command =
        line.add("bundle", "Makes and inspects bundles: one file with many entries that ships with an application.",
                 "  hearth bundle create kernels.bundle\n"
                 "  HEARTH_BUNDLES=kernels.bundle python serve.py\n"
                 "  hearth bundle diff update.bundle old.bundle new.bundle",
                 "'hearth bundle COMMAND --help' shows each. docs/bundles.md tells how a fleet starts warm with them.");
    command.require_subcommand(1);
    for (const auto add : {add_bundle_create, add_bundle_ls, add_bundle_verify, add_bundle_merge, add_bundle_diff})
        add(line, command);
}

}  // namespace hearth::cli
