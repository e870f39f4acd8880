#include "commands.hpp"
#include "exit.hpp"
#include "output.hpp"
#include "table.hpp"
#include "text.hpp"

#include <nlohmann/json.hpp>

#include <map>

namespace hearth::cli {

namespace {

const std::map<std::string, Preset>& presets()
{
    static const std::map<std::string, Preset> all{{"development", Preset::development},
                                                   {"production", Preset::production},
                                                   {"high_performance", Preset::high_performance}};
    return all;
}

struct Arguments {
    std::string preset;
    bool json = false;
};

int run_config(const Globals& globals, const Arguments& arguments)
{
    CacheOptions options;
    options.directory = globals.directory;
    if (!arguments.preset.empty())
        options.preset = presets().at(arguments.preset);
    const Settings settings = resolve(std::move(options));

    if (arguments.json) {
        nlohmann::ordered_json object{{"settings", nlohmann::ordered_json::array()}, {"problems", settings.problems}};
        for (const Setting& setting : settings.values)
            object["settings"].push_back({{"name", setting.name},
                                          {"value", setting.value},
                                          {"source", setting.source},
                                          {"environment", setting.environment},
                                          {"meaning", setting.meaning}});
        print_json(object);
    } else {
        Table table({{"NAME"}, {"VALUE"}, {"SOURCE"}, {"ENVIRONMENT"}, {"MEANING"}});
        for (const Setting& setting : settings.values)
            table.add({printable(setting.name), printable(setting.value), printable(setting.source),
                       printable(setting.environment), printable(setting.meaning)});
        table.print();
    }
    for (const std::string& problem : settings.problems)
        warn(problem);
    return k_done;
}

}  // namespace

void add_config(CommandLine& line)
{
    CLI::App& command =
        line.add("config", "Shows every setting, its value, and where the value came from.",
                 "  hearth config\n"
                 "  hearth config --preset high_performance\n"
                 "  hearth config --json | jq -r '.settings[] | select(.source != \"default\") | .name'");
    auto arguments = std::make_shared<Arguments>();
    std::vector<std::string> names;
    for (const auto& [name, preset] : presets())
        names.push_back(name);
    add_text(command, "--preset", arguments->preset, "As if this preset were chosen", "NAME")
        ->check(CLI::IsMember(names));
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_config);
}

}  // namespace hearth::cli
