#include "cache/selection.hpp"

#include "cache/key_argument.hpp"
#include "cache/pattern.hpp"
#include "cache/rows.hpp"
#include "hearth/units.hpp"
#include "terminal/exit.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace hearth::cli {

namespace {

// "nvrtc" stands for "nvrtc 13.0" too.
bool is_by(const EntryRow& row, const std::string& compiler)
{
    const std::string& by = row.metadata.compiler;
    return glob_matches(compiler, by) || by.substr(0, by.find(' ')) == compiler;
}

// "f9df7fc2240f (k.cu, sm_90)". Those that a prefix has in common need more digits.
std::string in_a_list(const EntryRow& row, bool by_prefix)
{
    std::vector<std::string> known;
    for (const std::string& text : {row.metadata.label, row.metadata.target})
        if (!text.empty())
            known.push_back(printable(text));
    return (by_prefix ? row.key.hex() : short_key(row.key)) +
           (known.empty() ? "" : fmt::format(" ({})", fmt::join(known, ", ")));
}

[[noreturn]] void fail_with(const std::vector<EntryRow>& several, const std::string& pattern)
{
    static constexpr std::size_t k_most = 8;
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(several.size(), k_most); ++i)
        shown.push_back(in_a_list(several[i], is_key_prefix(pattern)));
    fail_usage(fmt::format("{} entries match {}: {}{}. Give the key of one, or choose with --target, --compiler, "
                           "--older-than or --failed.",
                           several.size(), in_quotes(pattern), fmt::join(shown, ", "),
                           several.size() > k_most ? fmt::format(" and {} more", several.size() - k_most) : ""));
}

}  // namespace

Option add_selection(Command& command, Selection& selection, const std::string& argument)
{
    const Option added = command.text(argument, selection.pattern, Pattern::k_help);
    command.text("--target", selection.target, "Only entries for this target, as ls shows it", "TARGET");
    command.text("--compiler", selection.compiler, "Only entries of this compiler: nvrtc, or 'nvrtc 13.*'", "NAME");
    command.duration("--older-than", selection.older_than, "Only entries that were not used for this long: 12h, 30d");
    command.flag("--failed", selection.failed, "Only compiles that failed, and are remembered");
    return added;
}

Choose chosen_by(const Selection& selection)
{
    if (selection.is_everything())
        return {};
    std::optional<Pattern> pattern;
    if (selection.pattern)
        pattern.emplace(*selection.pattern);
    return [selection, pattern, the_time_is = now()](const EntryRow& row) {
        return (!pattern || pattern->matches(row)) && (!selection.target || row.metadata.target == *selection.target) &&
               (!selection.compiler || is_by(row, *selection.compiler)) &&
               (!selection.older_than || std::max(row.created, row.last_used) + *selection.older_than <= the_time_is) &&
               (!selection.failed || row.status != 0);
    };
}

bool anything_matches(Cache& cache, const Choose& choose)
{
    bool found = false;
    admin::list(cache, [&](const EntryRow& row) {
        found = !choose || choose(row);
        return !found;
    });
    return found;
}

std::string nothing_matches(const Selection& selection)
{
    if (selection.is_everything())
        return "There is nothing in the cache";
    std::string text = "Nothing matches";
    if (selection.pattern)
        text += " " + in_quotes(*selection.pattern);
    if (selection.target)
        text += " --target " + printable(*selection.target);
    if (selection.compiler)
        text += " --compiler " + in_quotes(*selection.compiler);
    if (selection.older_than)
        text += " --older-than " + format_duration(*selection.older_than);
    return text + (selection.failed ? " --failed" : "");
}

std::optional<Key> find_one(Cache& cache, const Selection& selection)
{
    const std::string& pattern = *selection.pattern;
    const Key exact = exact_key(pattern);
    const Choose choose = chosen_by(selection);
    const std::optional<EntryRow> stored = admin::info(cache, exact);
    const bool left_out = stored && !choose(*stored);
    if (!left_out && (Key::parse(pattern) || !admin::where(cache, exact).empty()))
        return exact;
    std::vector<EntryRow> found;
    admin::list(cache, [&](const EntryRow& row) {
        if (choose(row) && (!is_internal(row) || is_key_prefix(pattern)))
            found.push_back(row);
        return true;
    });
    if (found.size() > 1)
        fail_with(found, pattern);
    if (found.empty())
        return left_out ? std::nullopt : std::optional(exact);
    return found.front().key;
}

}  // namespace hearth::cli
