#include "carry/identity.hpp"

#include "doctor/machine.hpp"
#include "doctor/python_packages.hpp"
#include "hearth/libraries.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <sys/utsname.h>

namespace hearth::cli::carry {

namespace {

namespace fs = std::filesystem;

constexpr const char* k_not_found_here = "not found";
constexpr const char* k_several = "several: ";
constexpr const char* k_not_said = "not said";
constexpr const char* k_users_own = "identity";

// Other names under which the same package is published.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> k_other_names{{
    {"triton", "pytorch_triton"},
    {"triton", "pytorch_triton_rocm"},
    {"triton", "pytorch_triton_xpu"},
    {"amd_aiter", "aiter"},
}};

std::string kind_of_machine()
{
    utsname names{};
    return ::uname(&names) == 0 ? names.machine : "unknown";
}

std::string gpus_here()
{
    std::set<std::string> names;
    for (const FoundGpu& gpu : find_gpus())
        names.insert(gpu.name);
    return names.empty() ? "no GPU" : fmt::format("{}", fmt::join(names, ", "));
}

void add_versions(std::string_view package, const std::string& folder, std::set<std::string>& versions)
{
    for (const char* kind : {"dist-info", "egg-info"})
        for (const std::string& found : expand(fmt::format("{}/{}-[0-9]*.{}", folder, package, kind))) {
            const std::string version = fs::path(found).stem().string().substr(package.size() + 1);
            versions.insert(version.substr(0, version.find("-py")));
        }
}

// "2.15.0 (python3.11)". What an upgrade left over tells nothing: of several versions none is taken.
std::string version_of(std::string_view package, const std::vector<std::string>& folders)
{
    for (const std::string& folder : folders) {
        std::set<std::string> versions;
        add_versions(package, folder, versions);
        for (const auto& [name, other] : k_other_names)
            if (name == package)
                add_versions(other, folder, versions);
        if (!versions.empty())
            return fmt::format("{}{} ({})", versions.size() > 1 ? k_several : "", fmt::join(versions, ", "),
                               fs::path(folder).parent_path().filename().string());
    }
    return k_not_found_here;
}

bool is_known(const std::string& version)
{
    return version != k_not_found_here && !version.starts_with(k_several);
}

std::string toolkit_version()
{
    for (const char* name : {"CUDA_HOME", "CUDA_PATH", ""}) {
        const char* const home = *name == '\0' ? "/usr/local/cuda" : std::getenv(name);
        if (home == nullptr || *home == '\0')
            continue;
        std::ifstream file(std::string(home) + "/version.json");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const JsonValue json = JsonValue::parse(text);
        if (const JsonValue* const cuda = json.find("cuda"); cuda != nullptr)
            return cuda->text_of("version");
    }
    return k_not_found_here;
}

std::string value_in(const std::vector<Fact>& facts, const std::string& what)
{
    const auto found = std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.what == what; });
    return found != facts.end() ? found->value : k_not_said;
}

}  // namespace

std::vector<Fact> identity_of(const Place& place, const IdentityOptions& options)
{
    std::vector<Fact> facts{{"machine", kind_of_machine()},
                            {"target", options.target.empty() ? gpus_here() : options.target}};
    if (place.tool != nullptr) {
        const std::vector<std::string> folders =
            place.tool->packages.empty() ? std::vector<std::string>{} : python_package_folders(options.program);
        for (const std::string_view package : place.tool->packages)
            facts.push_back({std::string(package), version_of(package, folders)});
        if (place.tool->needs_toolkit)
            facts.push_back({"CUDA toolkit", toolkit_version()});
        if (place.tool->needs_driver)
            facts.push_back({"driver", find_driver().version});
    }
    if (!options.identity.empty())
        facts.push_back({k_users_own, options.identity});
    return facts;
}

std::vector<std::string> differences(const Capture& capture, const Place& place, const std::vector<Fact>& here)
{
    std::vector<std::string> phrases;
    const std::vector<std::string_view> packages =
        place.tool != nullptr ? place.tool->packages : std::vector<std::string_view>{};
    // What the user vouches for on both sides stands for versions that cannot be found.
    const bool is_vouched_for = value_in(here, k_users_own) != k_not_said &&
                                value_in(here, k_users_own) == value_in(capture.identity, k_users_own);
    const auto compare = [&](const std::string& what, const std::string& there_value, const std::string& here_value) {
        const bool is_package = std::find(packages.begin(), packages.end(), what) != packages.end();
        const bool is_unknown = is_package && (!is_known(there_value) || !is_known(here_value));
        // A tool may do without its other packages, but its own was there when it compiled.
        const bool is_own = is_package && packages.front() == what;
        if (is_unknown ? is_vouched_for || (there_value == here_value && !is_own) : there_value == here_value)
            return;
        phrases.push_back(fmt::format("{} is {} there and {} here{}", printable(what), in_quotes(there_value),
                                      in_quotes(here_value),
                                      is_unknown ? ", so its version is not known (the same --identity at capture and "
                                                   "restore can stand for it)"
                                                 : ""));
    };
    compare("the directory", capture.directory, place.directory);
    for (const Fact& fact : here)
        compare(fact.what, value_in(capture.identity, fact.what), fact.value);
    for (const Fact& fact : capture.identity)
        if (std::none_of(here.begin(), here.end(), [&](const Fact& one) { return one.what == fact.what; }))
            compare(fact.what, fact.value, k_not_said);
    return phrases;
}

}  // namespace hearth::cli::carry
