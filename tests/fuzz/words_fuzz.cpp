// What people write: keys, sizes and times, addresses, source texts and configuration files.

#include "compilers/common/text_questions.hpp"
#include "fuzz/fuzz.hpp"
#include "hearth/key.hpp"
#include "hearth/options.hpp"
#include "hearth/units.hpp"
#include "remote/remote_options.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"
#include "tiers/disk/layout.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

namespace {

using namespace hearth;

void try_key(std::string_view text)
{
    const auto lower = [](unsigned char c) { return std::tolower(c); };
    if (const auto key = Key::parse(text))
        fuzz::require(std::ranges::equal(key->hex(), text, {}, {}, lower), "a key that is read is written as it was");

    // The same bytes as the name of a file among the entries.
    static const tiers::Layout layout("directory");
    const unsigned shard = text.empty() ? 0 : static_cast<unsigned char>(text[0]);
    if (const auto key = tiers::Layout::key_of(shard, text))
        fuzz::require(layout.entry(*key) == layout.shard(shard) + "/" + std::string(text),
                      "a file that is named like an entry is that entry's file");
}

void try_units(std::string_view text)
{
    if (const auto bytes = parse_size(text)) {
        const auto again = parse_size(format_size(*bytes));
        fuzz::require(again.has_value(), "a size that is shown can be read");
        const auto exact = static_cast<double>(*bytes);
        fuzz::require(std::abs(static_cast<double>(*again) - exact) <= 0.05 * exact, "and is about the same");
    }
    if (const auto duration = parse_duration(text)) {
        fuzz::require(duration->count() >= 0, "a duration is not negative");
        fuzz::require(parse_duration(format_duration(*duration)) == duration,
                      "a duration that is shown is read as it was");
    }
}

void try_url(std::string_view text)
{
    const Result<remotes::Url> url = remotes::parse_url(text);
    if (!url) {
        fuzz::require(!url.error().message.empty(), "what is no address is refused with a sentence");
        return;
    }
    fuzz::require(url->hosts.size() <= 64, "hosts are bounded");
    // A password of some length would hardly be in what is shown by chance.
    if (url->password.size() > 8 && url->shown().find(url->password) != std::string::npos) {
        bool elsewhere = url->path.find(url->password) != std::string::npos;
        for (const remotes::HostPort& host : url->hosts)
            elsewhere = elsewhere || host.host.find(url->password) != std::string::npos;
        fuzz::require(elsewhere || url->scheme.find(url->password) != std::string::npos,
                      "a password is not in what is shown");
    }
    static_cast<void>(remotes::resolve_options({.url = std::string(text)}));
}

void try_texts(std::string_view input)
{
    const std::string text(input);
    const auto ask = [](const std::string& source) {
        const compilers::TextFacts facts = compilers::TextFacts::of_source(source);
        const std::array<compilers::SourceText, 1> texts{compilers::SourceText{&facts, source, {}}};
        return compilers::ask_texts(texts);
    };
    static_cast<void>(ask(text));
    // Whatever stands before it, a line that no comment can hide is seen.
    fuzz::require(ask(text + "\n\n__TIME__\n").may_hold_the_time, "the time is seen behind any text");
    fuzz::require(ask(text + "\n\n__FILE__\n").may_hold_its_own_path.front(), "the path is seen behind any text");
    static_cast<void>(ask(text + "\n\nvoid f(const char* = __builtin_FILE());\n" + text));
    // Facts that were kept may be damaged.
    if (const std::optional<compilers::TextFacts> read = compilers::TextFacts::decode(as_bytes(text))) {
        const std::array<compilers::SourceText, 1> texts{compilers::SourceText{&*read, text, {}}};
        static_cast<void>(compilers::ask_texts(texts));
    }
    const std::string encoded = compilers::TextFacts::of_source(text).encode();
    const std::optional<compilers::TextFacts> again = compilers::TextFacts::decode(as_bytes(encoded));
    fuzz::require(again && again->encode() == encoded, "facts are the same when they are read again");
}

// A configuration file. No other setting comes from the environment.
void try_settings(std::string_view input)
{
    static const test::ScratchDirectory s_folder;
    static test::IsolatedEnvironment s_environment;
    s_environment.set("HEARTH_CONFIG", s_folder / "config.json");
    test::write_file(s_folder / "config.json", input);
    const Settings settings = resolve();
    for (const Setting& setting : settings.values)
        fuzz::require(!setting.name.empty() && !setting.value.empty() && !setting.source.empty(),
                      "every setting has a value and a source");
    for (const std::string& problem : settings.problems)
        fuzz::require(problem.ends_with('.'), "a problem is a sentence");
    const CacheOptions& options = settings.options;
    fuzz::require(options.preset && options.directory && options.memory_bytes && options.disk_bytes &&
                      options.disk_entries && options.max_age && options.compression && options.access &&
                      options.users && options.policy_name && options.promote_after && options.caching &&
                      options.compiling && options.max_parallel_compiles && options.compile_time_limit &&
                      options.variants_after && options.durable && options.flight_wait && options.failure_ttl &&
                      options.maintenance && options.maintenance_interval && options.log_to,
                  "every option is filled");
    fuzz::require(*options.compression >= 0 && *options.compression <= 19, "a value out of range is passed over");
    fuzz::require(options.directory->find('\0') == std::string::npos, "a path is a path");
    fuzz::require(options.max_age->count() >= 0 && options.failure_ttl->count() >= 0, "no time is negative");
}

const fuzz::Added k_added{{"key", 600'000, try_key},
                          {"units", 800'000, try_units},
                          {"url", 400'000, try_url},
                          {"texts", 60'000, try_texts},
                          {"settings", 30'000, try_settings}};

}  // namespace
