#include "hearth/options.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

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

struct ConfigArguments {
    std::string preset;
    bool json = false;
};

int run_config(const Globals& globals, const ConfigArguments& arguments)
{
    CacheOptions options;
    options.directory = globals.directory;
    if (!arguments.preset.empty())
        options.preset = presets().at(arguments.preset);
    const Settings settings = resolve(std::move(options));

    if (arguments.json) {
        Json values = Json::array();
        for (const Setting& setting : settings.values)
            values.add({{"name", setting.name},
                        {"value", setting.value},
                        {"source", setting.source},
                        {"environment", setting.environment},
                        {"meaning", setting.meaning}});
        print_json({{"settings", values}, {"problems", settings.problems}});
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

void add_config(Command& command)
{
    command.describe("Shows every setting, its value, and where the value came from.",
                     "  hearth config\n"
                     "  hearth config --preset high_performance\n"
                     "  hearth config --json | jq -r '.settings[] | select(.source != \"default\") | .name'");
    auto& arguments = command.runs(run_config);
    std::vector<std::string> names;
    for (const auto& [name, preset] : presets())
        names.push_back(name);
    command.text("--preset", arguments.preset, "Show the settings as if this preset were chosen", "NAME").one_of(names);
    command.json(arguments.json);
}

}  // namespace hearth::cli
