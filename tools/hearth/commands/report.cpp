#include "cache/open_cache.hpp"
#include "hearth/units.hpp"
#include "page/page_facts.hpp"
#include "process/file_io.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

#include <algorithm>
#include <map>

namespace hearth::cli {

namespace {

constexpr std::size_t k_most_of_an_order = 1000;
constexpr std::size_t k_most_details = 10;  // as many as the page shows of the slowest compiles

struct ReportArguments {
    std::string file;
    bool json = false;
};

// The first of every order, each entry once: "rows", and by order their places in it.
Json entries_in_report(const EntryIndex& index)
{
    std::map<Key, std::size_t> places;
    Json rows = Json::array();
    Json by = Json::object();
    for (std::size_t order = 0; order < k_entry_orders.size(); ++order) {
        Json numbers = Json::array();
        for (const IndexedEntry* const entry :
             index.find(static_cast<EntryOrder>(order), "", 0, k_most_of_an_order).entries) {
            const auto [at, is_new] = places.try_emplace(entry->key, places.size());
            if (is_new)
                rows.add(index.as_json(*entry));
            numbers.add(at->second);
        }
        by.add(k_entry_orders[order], numbers);
    }
    return {{"total", index.size()}, {"rows", rows}, {"by", by}};
}

int run_report(const Globals& globals, const ReportArguments& arguments)
{
    Cache cache = open_cache(globals, Use::read, Remotes::yes);
    const EntryIndex index(cache);
    Json facts = page_facts(cache, &index, PageIs::written);
    facts.add("entries", entries_in_report(index));
    Json details = Json::object();
    for (const Key& key : slowest_compiles(cache, k_most_details))
        if (const IndexedEntry* const entry = index.find(key))
            details.add(key.hex(), entry_detail(cache, index, *entry));
    facts.add("details", details);
    const std::string page = page_in_one(facts);
    write_whole(arguments.file, as_bytes(page));
    if (arguments.json)
        print_json({{"file", arguments.file}, {"entries", index.size()}, {"bytes", page.size()}});
    else
        print_out("Wrote {} ({}), of {}.\n", printable(arguments.file), format_size(page.size()),
                  count_of(index.size(), "entry", "entries"));
    return k_done;
}

}  // namespace

void add_report(Command& command)
{
    command.describe("Writes the page that 'hearth serve' shows as one file, which needs no server.",
                     "  hearth report -o page.html\n"
                     "  hearth report -o page.html && xdg-open page.html",
                     "It holds the first 1000 entries of each order, and nothing that it would have to load.");
    auto& arguments = command.runs(run_report);
    command.text("-o,--output", arguments.file, "The file to write", "FILE").required();
    command.json(arguments.json);
}

}  // namespace hearth::cli
