#include "cache/open_cache.hpp"

#include "cache/directory_facts.hpp"
#include "hearth/admin.hpp"
#include "run_log/run_log.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hearth::cli {

namespace {

// Holds warnings back while the cache opens, so that the reason of a failure is told only once, as the failure.
class Warnings {
public:
    explicit Warnings(std::vector<std::string> settings_problems) : m_settings_problems(std::move(settings_problems)) {}

    void add(std::string_view sentence)
    {
        const std::lock_guard lock(m_mutex);
        if (m_passing)
            warn(sentence);
        else
            m_held.emplace_back(sentence);
    }

    void pass()
    {
        const std::lock_guard lock(m_mutex);
        m_passing = true;
        for (const std::string& sentence : m_held)
            warn(sentence);
        m_held.clear();
    }

    // The first warning that is not about an ignored setting.
    std::string reason(std::string otherwise)
    {
        const std::lock_guard lock(m_mutex);
        for (const std::string& sentence : m_held)
            if (std::find(m_settings_problems.begin(), m_settings_problems.end(), sentence) ==
                m_settings_problems.end())
                return sentence;
        return otherwise;
    }

private:
    std::mutex m_mutex;
    bool m_passing = false;
    std::vector<std::string> m_held;
    std::vector<std::string> m_settings_problems;
};

// A cache that cannot be written answers lookups and quietly stores nothing. A command that changes it must fail.
void require_writable(const Settings& settings, const std::string& directory)
{
    if (settings.options.access == Access::read_only) {
        const Setting* setting = settings.find("read_only");
        fail(fmt::format("The cache in {} is read-only (by {}). Allow writing or choose another directory with --dir.",
                         in_quotes(directory), setting != nullptr ? setting->source : "its settings"));
    }
    const DirectoryFacts facts = look_at_directory(directory);
    if (facts.is_directory && !facts.writable)
        fail(fmt::format("This user cannot write the cache directory {}. Change its permissions or choose "
                         "another with --dir or HEARTH_DIR.",
                         in_quotes(directory)));
    if (!facts.exists && !facts.writable)
        fail(fmt::format("The cache directory {} does not exist and this user cannot create it. Create it or choose "
                         "another with --dir or HEARTH_DIR.",
                         in_quotes(directory)));
}

// A bundle that opened does not replace a disk that did not.
bool is_disk(const TierStatus& tier)
{
    return tier.traits.persistent && !tier.traits.remote && !tier.traits.fixed;
}

using Wanting = std::function<bool(const TierStatus&)>;

// A cache that has a tier of each wanted kind. Otherwise throws a Failure with the reason.
Cache open_with(const Globals& globals, const Settings& settings, CacheOptions options,
                const std::vector<Wanting>& wanted)
{
    options.directory = globals.directory;
    options.maintenance = Maintenance::by_hand;
    const auto warnings = std::make_shared<Warnings>(settings.problems);
    if (!options.log && !options.log_to)
        options.log = [warnings](LogLevel level, std::string_view sentence) {
            if (level == LogLevel::warning)
                warnings->add(sentence);
        };
    Cache opened = or_fail(Cache::open(std::move(options)));
    const std::vector<TierStatus> tiers = admin::tiers(opened);
    for (const Wanting& one : wanted)
        if (std::none_of(tiers.begin(), tiers.end(), one))
            fail(warnings->reason(
                fmt::format("No cache can be opened in {}. Choose another directory with --dir or HEARTH_DIR.",
                            in_quotes(settings.options.directory.value_or("")))));
    warnings->pass();
    return opened;
}

}  // namespace

Settings settings_of(const Globals& globals, Tell tell)
{
    CacheOptions options;
    options.directory = globals.directory;
    Settings settings = resolve(std::move(options));
    if (tell == Tell::problems)
        for (const std::string& problem : settings.problems)
            warn(problem);
    return settings;
}

std::uint64_t max_entry_bytes(const Globals& globals)
{
    return settings_of(globals).options.max_entry_bytes.value_or(UINT64_MAX);
}

Cache open_cache(const Globals& globals, Use use, Remotes remotes, const std::string& sign_with)
{
    const Settings settings = settings_of(globals, use == Use::quiet ? Tell::nothing : Tell::problems);
    if (use == Use::change)
        require_writable(settings, settings.options.directory.value_or(""));

    CacheOptions options;
    if (!sign_with.empty())
        options.sign_with = sign_with;
    const bool works = use == Use::work || use == Use::quiet;
    if (use == Use::quiet) {
        if (const char* const log = std::getenv("HEARTH_LOG"); log != nullptr && *log != '\0')
            options.log_to = log;
        else
            options.log = run_log::note_warning;  // 'hearth run --summary' tells it
    }
    if (remotes == Remotes::no && !works)
        options.remotes.emplace();
    if (use == Use::change)
        options.bundles.emplace();  // bundles cannot be changed
    if (use == Use::work && settings.options.caching == Switch::off)
        warn("The cache is turned off (HEARTH_DISABLE, or \"disabled\" in the configuration): nothing is found or "
             "kept.");
    if (!works)
        options.caching = Switch::on;  // HEARTH_DISABLE is for programs; the cache can still be shown and maintained
    if (use == Use::look)
        options.access = Access::read_only;
    return open_with(globals, settings, std::move(options),
                     works ? std::vector<Wanting>{} : std::vector<Wanting>{is_disk});
}

Cache open_to_fill(const Globals& globals, const std::optional<std::string>& bundle)
{
    const Settings settings = settings_of(globals);
    require_writable(settings, settings.options.directory.value_or(""));
    CacheOptions options;
    options.caching = Switch::on;
    options.memory_bytes = 0;
    options.vram_bytes = 0;
    if (bundle) {
        options.bundles.emplace({*bundle});
        options.remotes.emplace();
    }
    std::vector<Wanting> wanted{is_disk};
    if (bundle)
        wanted.emplace_back([](const TierStatus& tier) { return tier.traits.fixed; });
    return open_with(globals, settings, std::move(options), wanted);
}

Result<Cache> open_to_build(const Globals& globals, Into into, const std::string& over, const std::string& sign_with)
{
    CacheOptions options;
    options.directory = globals.directory;
    options.maintenance = Maintenance::by_hand;
    options.caching = Switch::on;
    options.compiling = Compiling::allowed;
    options.access = Access::read_write;
    options.failure_ttl = std::chrono::milliseconds(0);  // failures are reported, not kept
    options.record_to = "";
    // Nothing that is built is read twice.
    options.memory_bytes = 0;
    options.vram_bytes = 0;
    options.remotes.emplace();
    options.bundles.emplace();
    if (into == Into::bundle) {
        options.disk_bytes = 0;
        options.disk_entries = 0;
        options.max_age = std::chrono::seconds(0);
        options.sign_with = sign_with;
        options.demand_signatures.emplace();
        if (!over.empty())
            options.bundles->push_back(over);
    }
    options.log = [](LogLevel level, std::string_view sentence) {
        if (level == LogLevel::warning)
            warn(sentence);
    };
    return Cache::open(std::move(options));
}

TierStatus disk_of(Cache& cache)
{
    for (TierStatus& tier : admin::tiers(cache))
        if (is_disk(tier))
            return std::move(tier);
    return {};
}

std::vector<std::string> persistent_among(Cache& cache, const std::vector<std::string>& names)
{
    std::vector<std::string> result;
    for (const TierStatus& tier : admin::tiers(cache))
        if (tier.traits.persistent && std::find(names.begin(), names.end(), tier.name) != names.end())
            result.push_back(tier.name);
    return result;
}

}  // namespace hearth::cli
