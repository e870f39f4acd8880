#include "bundle.hpp"
#include "bundle_report.hpp"
#include "exit.hpp"
#include "hearth/units.hpp"
#include "output.hpp"
#include "pattern.hpp"
#include "rows.hpp"
#include "table.hpp"
#include "text.hpp"
#include "times.hpp"

#include <nlohmann/json.hpp>

#include <exception>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string file;
    std::string pattern;
    bool facts = false;
    bool json = false;
};

// What print() throws must not travel through the library.
Status visit_all(const std::string& file, const std::function<void(const EntryRow&)>& print)
{
    std::exception_ptr problem;
    Status listed = bundles::list(file, [&](const EntryRow& row) {
        try {
            print(row);
        } catch (...) {
            problem = std::current_exception();
        }
        return !problem;
    });
    if (problem)
        std::rethrow_exception(problem);
    return listed;
}

int run_ls(const Globals& /*globals*/, const Arguments& arguments)
{
    const Result<bundles::Facts> facts = bundles::read(arguments.file);
    if (!facts)
        fail(facts.error().message);
    if (arguments.facts) {
        if (arguments.json)
            print_json(facts_as_json(arguments.file, *facts));
        else
            print_facts(arguments.file, *facts);
        return k_done;
    }
    std::optional<Pattern> pattern;
    if (!arguments.pattern.empty())
        pattern.emplace(arguments.pattern);
    Table table(
        {{"KEY"}, {"SIZE", Align::right}, {"STORED", Align::right}, {"COST", Align::right}, {"TARGET"}, {"LABEL"}});
    std::uint64_t printed = 0;
    const Status listed = visit_all(arguments.file, [&](const EntryRow& row) {
        if (pattern && !pattern->matches(row))
            return;
        ++printed;
        if (arguments.json)
            print_json(row_as_json(row));
        else
            table.add({short_key(row.key), format_size(row.bytes), format_size(row.stored_bytes),
                       row.cost.count() == 0 ? "-" : show_duration(row.cost), printable(row.metadata.target),
                       printable(row.metadata.label)});
    });
    if (!arguments.json) {
        print_facts(arguments.file, *facts);
        if (printed != 0) {
            print_out("\n");
            table.print();
        }
    }
    if (!listed.ok())
        fail(listed.error().message);
    if (pattern && printed == 0) {
        complain("Nothing matches " + in_quotes(arguments.pattern) + ".");
        return k_nothing;
    }
    return k_done;
}

}  // namespace

void add_bundle_ls(CommandLine& line, CLI::App& bundle)
{
    CLI::App& command = add_part(bundle, "ls", "Shows what a bundle is and what is in it",
                                 "  hearth bundle ls kernels.bundle\n"
                                 "  hearth bundle ls kernels.bundle --facts --json | jq '.targets[].name'\n"
                                 "  hearth bundle ls kernels.bundle 'gemm*' --json | jq -r .key");
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "FILE", arguments->file, "The bundle")->required();
    add_text(command, "PATTERN", arguments->pattern, Pattern::k_help);
    command.add_flag("--facts", arguments->facts, "Only what the bundle says of itself, without a look at its entries");
    add_json_flag(command, arguments->json)
        ->description("One JSON object a line for each entry, as 'hearth ls' has them; with --facts one object");
    line.on_chosen(command, arguments, run_ls);
}

}  // namespace hearth::cli
