#include "cache/open_cache.hpp"
#include "cache/rows.hpp"
#include "cache/selection.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hearth::cli {

namespace {

using Order = bool (*)(const EntryRow&, const EntryRow&);

const std::map<std::string, Order>& orders()
{
    static const std::map<std::string, Order> all{
        {"label", [](const EntryRow& a, const EntryRow& b) { return a.metadata.label < b.metadata.label; }},
        {"size", [](const EntryRow& a, const EntryRow& b) { return a.stored_bytes > b.stored_bytes; }},
        {"cost", [](const EntryRow& a, const EntryRow& b) { return a.cost > b.cost; }},
        {"uses", [](const EntryRow& a, const EntryRow& b) { return a.uses > b.uses; }},
        {"used", [](const EntryRow& a, const EntryRow& b) { return a.last_used > b.last_used; }},
        {"created", [](const EntryRow& a, const EntryRow& b) { return a.created > b.created; }},
    };
    return all;
}

struct LsArguments {
    Selection selection;
    bool all = false;
    std::string sort;
    std::optional<std::uint64_t> limit;
    bool json = false;
};

std::vector<EntryRow> collect(Cache& cache, const Choose& shown)
{
    std::vector<EntryRow> rows;
    admin::list(cache, [&](const EntryRow& row) {
        if (shown(row))
            rows.push_back(row);
        return true;
    });
    return rows;
}

void sort_and_cut(std::vector<EntryRow>& rows, const LsArguments& arguments)
{
    const Order order = orders().at(arguments.sort.empty() ? "label" : arguments.sort);
    std::sort(rows.begin(), rows.end(),
              [order](const EntryRow& a, const EntryRow& b) { return order(a, b) || (!order(b, a) && a.key < b.key); });
    if (arguments.limit && rows.size() > *arguments.limit)
        rows.resize(*arguments.limit);
}

void print_table(const std::vector<EntryRow>& rows)
{
    Table table({{"KEY"},
                 {"SIZE", Align::right},
                 {"USES", Align::right},
                 {"COST", Align::right},
                 {"LAST USED"},
                 {"TIER"},
                 {"TARGET"},
                 {"STATUS"},
                 {"LABEL, OPTIONS"}});
    const WallTime the_time_is = now();
    for (const EntryRow& row : rows)
        table.add({short_key(row.key), format_size(row.bytes), std::to_string(row.uses),
                   row.cost.count() == 0 ? "-" : show_duration(row.cost), show_age(row.last_used, the_time_is),
                   printable(row.tier), row.metadata.target.empty() ? "-" : printable(row.metadata.target),
                   row.status == 0 ? "ok" : "failed",
                   printable(row.metadata.label) + (row.metadata.options.empty() ? "" : "  ") +
                       options_line(row.metadata.options)});
    table.print();
}

// Prints entries as they come, so that a million of them need no memory.
std::uint64_t stream_json(Cache& cache, const Choose& shown, std::optional<std::uint64_t> limit)
{
    std::uint64_t printed = 0;
    std::exception_ptr problem;  // an exception must not pass through the library
    admin::list(cache, [&](const EntryRow& row) {
        if (!shown(row))
            return true;
        try {
            print_json(row_as_json(row));
        } catch (...) {
            problem = std::current_exception();
            return false;
        }
        ++printed;
        return !limit || printed < *limit;
    });
    if (problem)
        std::rethrow_exception(problem);
    return printed;
}

int run_ls(const Globals& globals, const LsArguments& arguments)
{
    Cache cache = open_cache(globals, Use::read);
    bool hidden = false;
    const Choose shown = [&, choose = chosen_by(arguments.selection)](const EntryRow& row) {
        if (choose && !choose(row))
            return false;
        const bool hide = is_internal(row) && !arguments.all;
        hidden |= hide;
        return !hide;
    };
    std::uint64_t printed = 0;
    if (arguments.json && arguments.sort.empty()) {
        printed = stream_json(cache, shown, arguments.limit);
    } else {
        std::vector<EntryRow> rows = collect(cache, shown);
        sort_and_cut(rows, arguments);
        printed = rows.size();
        if (arguments.json)
            for (const EntryRow& row : rows)
                print_json(row_as_json(row));
        else if (!rows.empty())
            print_table(rows);
    }
    const std::string_view of_its_own = hidden ? " but entries of Hearth's own, which --all shows" : "";
    if (printed == 0 && !arguments.selection.is_everything()) {
        complain(fmt::format("{}{}.", nothing_matches(arguments.selection), of_its_own));
        return k_nothing;
    }
    if (printed == 0 && !arguments.json)
        print_out("There is nothing in the cache{}.\n", of_its_own);
    return k_done;
}

}  // namespace

void add_ls(Command& command)
{
    command.describe("Lists entries: what they are, how large they are, and how often they were used.",
                     "  hearth ls 'saxpy*'\n"
                     "  hearth ls --target sm_90 --sort cost --limit 10\n"
                     "  hearth ls --failed\n"
                     "  hearth ls --json | jq -r 'select(.uses == 0) | .key'");
    auto& arguments = command.runs(run_ls);
    add_selection(command, arguments.selection);
    std::vector<std::string> names;
    for (const auto& [name, order] : orders())
        names.push_back(name);
    command.text("--sort", arguments.sort, "By cost, created, label, size, used or uses (otherwise label)", "FIELD")
        .one_of(names);
    command.flag("--all", arguments.all, "Show what Hearth keeps for itself too: digests of compilers, time stamps");
    command.count("--limit", arguments.limit, "Show only the first N");
    command.json(arguments.json, "One JSON object per line: key, label, bytes, stored_bytes, created, ...");
}

}  // namespace hearth::cli
