// Every setting in one table: its name in the file, its variable, how it is read, shown and defaulted.

#include "config/setting_rows.hpp"

#include "base/text.hpp"
#include "config/default_tiers.hpp"
#include "hearth/device_tier.hpp"
#include "hearth/units.hpp"
#include "remote/remote_options.hpp"
#include "remote/server_kinds.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace hearth::config {

std::string preset_name(Preset preset)
{
    switch (preset) {
    case Preset::development:
        return "development";
    case Preset::production:
        return "production";
    case Preset::high_performance:
        return "high_performance";
    }
    return "production";
}

namespace {

// A zero byte would end the path early wherever it is used, and so name another path than the one that was meant.
std::optional<std::string> parse_path(std::string_view text)
{
    if (text.empty() || text.find('\0') != std::string_view::npos)
        return std::nullopt;
    return std::string(text);
}

std::optional<Preset> parse_preset(std::string_view text)
{
    if (text == "development")
        return Preset::development;
    if (text == "production")
        return Preset::production;
    if (text == "high_performance" || text == "high-performance")
        return Preset::high_performance;
    return std::nullopt;
}

std::optional<Compiling> parse_compiling(std::string_view text)
{
    if (text == "after-ready")
        return Compiling::forbidden_after_ready;
    const std::optional<bool> forbidden = base::parse_bool(text);
    return forbidden ? std::optional(*forbidden ? Compiling::forbidden : Compiling::allowed) : std::nullopt;
}

std::string compiling_name(Compiling compiling)
{
    return compiling == Compiling::forbidden_after_ready ? "after-ready"
           : compiling == Compiling::forbidden           ? "true"
                                                         : "false";
}

std::string limit_text(std::uint64_t limit)
{
    return limit == 0 ? "none" : std::to_string(limit);
}

std::string size_text(std::uint64_t bytes)
{
    return bytes == 0 ? "none" : format_size(bytes);
}

// A row for an optional member: `read` turns text into its value, `write` the value into text.
template <class T, class Read, class Write>
SettingRow row(const char* name, const char* environment, const char* meaning, const char* takes,
               std::optional<T> CacheOptions::*member, Read read, Write write)
{
    return {false,
            {},
            nullptr,
            name,
            environment,
            meaning,
            takes,
            [member](const CacheOptions& options) { return (options.*member).has_value(); },
            [member, read](CacheOptions& options, std::string_view text) {
                const auto value = read(text);
                if (value)
                    options.*member = static_cast<T>(*value);
                return value.has_value();
            },
            [member, write](const CacheOptions& options) { return write((options.*member).value()); },
            nullptr,
            nullptr};
}

// The same for a setting with two values, written as 0 and 1.
template <class T>
SettingRow flag(const char* name, const char* environment, const char* meaning, std::optional<T> CacheOptions::*member,
                T no, T yes)
{
    const auto read = [no, yes](std::string_view text) -> std::optional<T> {
        const std::optional<bool> said = base::parse_bool(text);
        return said ? std::optional<T>(*said ? yes : no) : std::nullopt;
    };
    const auto write = [yes](T value) -> std::string { return value == yes ? "true" : "false"; };
    return row(name, environment, meaning, "0 or 1", member, read, write);
}

// What is wrong with a word of a list; empty: nothing.
using Objection = std::string (*)(const CacheOptions&, std::string_view);

// The same for a list of words.
SettingRow words(const char* name, const char* environment, const char* meaning, const char* takes,
                 std::optional<std::vector<std::string>> CacheOptions::*member, Objection objection = nullptr,
                 std::string (*write)(const std::string&) = nullptr)
{
    SettingRow setting;
    setting.many = true;
    setting.name = name;
    setting.environment = environment;
    setting.meaning = meaning;
    setting.takes = takes;
    setting.is_set = [member](const CacheOptions& options) { return (options.*member).has_value(); };
    setting.parse = [member, objection](CacheOptions& options, std::string_view text) {
        std::vector<std::string> usable;
        for (const std::string_view word : base::words_of(text))
            if (!objection || objection(options, word).empty())
                usable.emplace_back(word);
        if (usable.empty() || text.find('\0') != std::string_view::npos)
            return false;
        if (text == "none")
            usable.clear();
        options.*member = std::move(usable);
        return true;
    };
    setting.show = [member, write](const CacheOptions& options) {
        std::string text;
        for (const std::string& word : *(options.*member))
            text += (text.empty() ? "" : " ") + (write ? write(word) : word);
        return text.empty() ? std::string("none") : text;
    };
    if (objection)
        setting.objections = [objection](const CacheOptions& options, std::string_view text) {
            std::vector<std::string> all;
            for (const std::string_view word : base::words_of(text))
                if (std::string one = objection(options, word); !one.empty())
                    all.push_back(std::move(one));
            return all;
        };
    return setting;
}

// What counts, should a text be nothing that it takes.
SettingRow otherwise(const char* careful, SettingRow setting)
{
    setting.careful = careful;
    return setting;
}

// And should the file be nothing that can be read. Only for what costs hits, never the program.
SettingRow even_if_unread(SettingRow setting)
{
    setting.careful_if_unread = true;
    return setting;
}

SettingRow once_called(const char* old_name, const char* old_environment, SettingRow setting)
{
    setting.old_name = old_name;
    setting.old_environment = old_environment;
    return setting;
}

// The address without any password: settings are shown, and problems are logged.
std::string shown_address(const std::string& text)
{
    const Result<remotes::Url> url = remotes::parse_url(text);
    return url ? url->shown() : "(no address)";
}

// Does not repeat the text, which may hold a password.
std::string about_address(const CacheOptions& /*options*/, std::string_view word)
{
    const Result<remotes::Resolved> resolved = remotes::resolve_options({.url = std::string(word)});
    return resolved || word == "none" ? std::string{} : resolved.error().message;
}

std::string about_tier(const CacheOptions& options, std::string_view word)
{
    const DefaultTiers tiers = default_tiers(options);
    std::vector<std::string_view> known{"all", "bundles", "remotes", "disk"};
    known.insert(known.end(), tiers.bundles.begin(), tiers.bundles.end());
    known.insert(known.end(), tiers.remotes.begin(), tiers.remotes.end());
    if (word == "none" || std::ranges::find(known, word) != known.end() || remotes::kind_of_server(word) != nullptr)
        return {};
    return fmt::format("There is no tier \"{}\", but {}. Until it is put right, all have to be signed.",
                       base::printable(word), base::listed(known));
}

constexpr const char* k_size = "a size with a unit, such as 512M or 10GiB";
constexpr const char* k_duration = "a duration such as 250ms, 12h or 30d";
constexpr const char* k_number = "a whole number";
constexpr const char* k_size_limit = "a size with a unit, such as 512M or 10GiB, or none";
constexpr const char* k_number_limit = "a whole number from 1, or none";
constexpr const char* k_age_limit = "a duration such as 250ms, 12h or 30d, or none";

}  // namespace

// Built for every use and not kept in a static: a process that forks while another thread builds a static would wait
// for it.
std::vector<SettingRow> setting_rows()
{
    const auto count = [](std::string_view text) { return base::parse_number<std::uint32_t>(text); };
    const auto number_text = [](auto number) { return std::to_string(number); };
    // A limit of nothing would keep nothing, and is not what anybody means by 0.
    const auto limit = [](std::string_view text, std::optional<std::uint64_t> read) {
        return text == "none" ? std::optional<std::uint64_t>(0) : read == 0U ? std::nullopt : read;
    };
    const auto size_limit = [limit](std::string_view text) { return limit(text, base::parse_size_setting(text)); };
    const auto number_limit = [limit](std::string_view text) {
        return limit(text, base::parse_number<std::uint64_t>(text));
    };
    const auto optional_age = [](std::string_view text) -> std::optional<std::chrono::seconds> {
        if (text == "none")
            return std::chrono::seconds(0);
        const auto duration = parse_duration(text);
        if (!duration || duration->count() == 0)
            return std::nullopt;
        return std::chrono::ceil<std::chrono::seconds>(*duration);  // half a second is short, not "no limit"
    };
    return {
        row("preset", "HEARTH_PRESET", "which defaults to start from", "development, production or high_performance",
            &CacheOptions::preset, parse_preset, preset_name),
        flag("disabled", "HEARTH_DISABLE", "use no cache at all", &CacheOptions::caching, Switch::on, Switch::off),
        row("directory", "HEARTH_DIR", "where entries are kept", "a path", &CacheOptions::directory, parse_path,
            [](const std::string& path) { return path; }),
        row("memory_bytes", "HEARTH_MEMORY_BYTES", "budget of the memory tier; 0: there is none", k_size,
            &CacheOptions::memory_bytes, base::parse_size_setting, format_size),
        row(
            "vram", "HEARTH_VRAM", "budget of a tier in device memory; 0: there is none",
            "a size with a unit, such as 512M, or auto", &CacheOptions::vram_bytes,
            [](std::string_view text) {
                return text == "auto" ? std::optional(device::k_recommended) : base::parse_size_setting(text);
            },
            [](std::uint64_t bytes) { return bytes == device::k_recommended ? "auto" : format_size(bytes); }),
        row(
            "vram_backend", "HEARTH_VRAM_BACKEND", "whose memory that is", "auto, cuda, opencl, webgpu or host",
            &CacheOptions::vram_backend,
            [](std::string_view text) {
                return device::backend_named(text) ? std::optional<std::string>(text) : std::nullopt;
            },
            [](const std::string& name) { return name; }),
        row("max_bytes", "HEARTH_MAX_BYTES", "budget of the disk tier", k_size_limit, &CacheOptions::disk_bytes,
            size_limit, size_text),
        row("max_entries", "HEARTH_MAX_ENTRIES", "most entries on disk", k_number_limit, &CacheOptions::disk_entries,
            number_limit, limit_text),
        row(
            "max_entry_bytes", "HEARTH_MAX_ENTRY_BYTES",
            "most that one entry may take, unpacked; larger ones are neither loaded nor sent", k_size,
            &CacheOptions::max_entry_bytes,
            [](std::string_view text) {
                const auto size = base::parse_size_setting(text);
                return size == 0U ? std::nullopt : size;
            },
            format_size),
        row("max_age", "HEARTH_MAX_AGE", "entries older than this are not used", k_age_limit, &CacheOptions::max_age,
            optional_age, [](std::chrono::seconds age) { return age.count() == 0 ? "none" : format_duration(age); }),
        row(
            "compression", "HEARTH_COMPRESSION", "zstd level of entries on disk; 0: they are not compressed",
            "a number from 0 to 19", &CacheOptions::compression,
            [](std::string_view text) {
                const auto level = base::parse_number<int>(text);
                return level && *level >= 0 && *level <= 19 ? level : std::nullopt;
            },
            number_text),
        otherwise("1", flag("read_only", "HEARTH_READ_ONLY", "read the directory but never write to it",
                            &CacheOptions::access, Access::read_write, Access::read_only)),
        flag("shared", "HEARTH_SHARED", "the directory may belong to another user", &CacheOptions::users, Users::one,
             Users::many),
        flag("durable", "HEARTH_DURABLE", "an entry on disk outlives a power cut: stores wait for the disk",
             &CacheOptions::durable, Switch::off, Switch::on),
        words("bundles", "HEARTH_BUNDLES", "files of entries that ship with an application, asked after the disk",
              "paths of bundles, with blanks between", &CacheOptions::bundles),
        words("remote", "HEARTH_REMOTE", "servers that a fleet shares, asked after this machine's tiers",
              "addresses such as redis://cache:6379, with blanks between", &CacheOptions::remotes, about_address,
              shown_address),
        row(
            "sign_with", "HEARTH_SIGN_WITH", "signing key for what is stored and sent", "the path of a file",
            &CacheOptions::sign_with,
            [](std::string_view text) { return text == "none" ? std::optional<std::string>("") : parse_path(text); },
            [](const std::string& path) { return path.empty() ? "none" : path; }),
        words("trusted_keys", "HEARTH_TRUSTED_KEYS", "whose signatures count",
              "public keys or files of them, with blanks between", &CacheOptions::trusted_keys),
        even_if_unread(otherwise(
            "all", words("demand_signatures", "HEARTH_DEMAND_SIGNATURES", "tiers that take signed entries only",
                         "names of tiers, with blanks between, or bundles or remotes for all of those",
                         &CacheOptions::demand_signatures, about_tier))),
        row(
            "policy", "HEARTH_POLICY", "what is evicted first", "gdsf or lru", &CacheOptions::policy_name,
            [](std::string_view text) {
                return text == "gdsf" || text == "lru" ? std::optional<std::string>(text) : std::nullopt;
            },
            [](const std::string& name) { return name; }),
        row("promote_after", "HEARTH_PROMOTE_AFTER", "uses after which an entry moves one tier up; 0: as 1", k_number,
            &CacheOptions::promote_after, count, number_text),
        once_called(
            "forbid_make", "HEARTH_FORBID_MAKE",
            otherwise("1", row("forbid_compile", "HEARTH_FORBID_COMPILE",
                               "a miss is an error, not a compile; or only once the program said that it is ready",
                               "0, 1 or after-ready", &CacheOptions::compiling, parse_compiling, compiling_name))),
        once_called("max_parallel_makes", "HEARTH_MAX_PARALLEL_MAKES",
                    row("max_parallel_compiles", "HEARTH_MAX_PARALLEL_COMPILES",
                        "compiles at once in this process; 0: no limit", k_number, &CacheOptions::max_parallel_compiles,
                        count, number_text)),
        row("compile_time_limit", "HEARTH_COMPILE_TIME_LIMIT",
            "how long to wait for a compile, which then fails; 0: no limit", k_duration,
            &CacheOptions::compile_time_limit, parse_duration, format_duration),
        row("flight_wait", "HEARTH_FLIGHT_WAIT", "how long to wait for another process's compile; 0: not at all",
            k_duration, &CacheOptions::flight_wait, parse_duration, format_duration),
        row("race_under", "HEARTH_RACE_UNDER", "compiles expected to be quicker do not wait for servers; 0: all do",
            k_duration, &CacheOptions::race_under, parse_duration, format_duration),
        flag("stable_paths", "HEARTH_STABLE_PATHS", "debug information names programs without their directories",
             &CacheOptions::stable_paths, Switch::off, Switch::on),
        row("variants_after", "HEARTH_VARIANTS_AFTER",
            "launches after which a kernel's declared variants are measured; 0: never", k_number,
            &CacheOptions::variants_after, count, number_text),
        row("failure_ttl", "HEARTH_FAILURE_TTL", "how long a failed compile is remembered; 0: not at all", k_duration,
            &CacheOptions::failure_ttl, parse_duration, format_duration),
        row(
            "maintenance", "HEARTH_MAINTENANCE", "expiry and sweeping in the background", "background or by_hand",
            &CacheOptions::maintenance,
            [](std::string_view text) -> std::optional<Maintenance> {
                if (text == "background")
                    return Maintenance::background;
                return text == "by_hand" ? std::optional(Maintenance::by_hand) : std::nullopt;
            },
            [](Maintenance how) { return how == Maintenance::background ? "background" : "by_hand"; }),
        row("maintenance_interval", "HEARTH_MAINTENANCE_INTERVAL", "how often that is; 0: never", k_duration,
            &CacheOptions::maintenance_interval, parse_duration, format_duration),
        row(
            "record", "HEARTH_RECORD", "file that compiles are recorded in, to be built elsewhere",
            "the path of a file", &CacheOptions::record_to,
            [](std::string_view text) { return text == "none" ? std::optional<std::string>("") : parse_path(text); },
            [](const std::string& path) { return path.empty() ? "none" : path; }),
        row("log", "HEARTH_LOG", "where warnings go", "off, stderr or a path", &CacheOptions::log_to, parse_path,
            [](const std::string& where) { return where; }),
    };
}

CacheOptions preset_options(Preset preset)
{
    CacheOptions options;
    options.preset = preset;
    options.caching = Switch::on;
    options.memory_bytes = 256_MiB;
    options.vram_bytes = 0;
    options.vram_backend = "auto";
    options.disk_bytes = 10_GiB;
    options.disk_entries = 0;
    options.max_entry_bytes = 256_MiB;
    options.max_age = std::chrono::seconds(0);
    options.compression = 1;
    options.access = Access::read_write;
    options.users = Users::one;
    options.durable = Switch::off;
    options.bundles.emplace();
    options.remotes.emplace();
    options.sign_with = "";
    options.trusted_keys.emplace();
    options.demand_signatures.emplace();
    options.policy_name = "gdsf";
    options.promote_after = 3;
    options.compiling = Compiling::allowed;
    options.max_parallel_compiles = 0;
    options.compile_time_limit = std::chrono::milliseconds(0);
    options.variants_after = 100;
    options.flight_wait = std::chrono::minutes(1);
    options.race_under = std::chrono::milliseconds(0);
    options.stable_paths = Switch::off;
    options.failure_ttl = std::chrono::minutes(1);
    options.maintenance = Maintenance::background;
    options.maintenance_interval = std::chrono::minutes(1);
    options.record_to = "";
    options.log_to = "off";
    switch (preset) {
    case Preset::development:
        options.memory_bytes = 64_MiB;
        options.disk_bytes = 1_GiB;
        options.max_age = std::chrono::hours(24 * 7);
        options.failure_ttl = std::chrono::seconds(5);
        options.log_to = "stderr";
        break;
    case Preset::production:
        break;
    case Preset::high_performance:
        options.memory_bytes = 1_GiB;
        options.disk_bytes = 50_GiB;
        options.compression = 0;
        options.promote_after = 1;
        break;
    }
    return options;
}

}  // namespace hearth::config
