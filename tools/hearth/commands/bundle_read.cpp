#include "cache/pattern.hpp"
#include "cache/rows.hpp"
#include "commands/bundle_parts.hpp"
#include "hearth/units.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <exception>
#include <optional>

namespace hearth::cli {

namespace {

struct ListBundleArguments {
    std::string file;
    std::string pattern;
    bool facts = false;
    bool json = false;
};

struct VerifyArguments {
    std::string file;
    std::vector<std::string> trusted;
    bool json = false;
};

// "sm_80 (12), sm_90 (12)"
std::string shown(const std::vector<bundles::Named>& names)
{
    std::string text;
    for (const bundles::Named& one : names)
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", printable(one.name), one.entries);
    return text.empty() ? "not said" : text;
}

Json as_json(const std::vector<bundles::Named>& names)
{
    Json all = Json::array();
    for (const bundles::Named& one : names)
        all.add({{"name", one.name}, {"entries", one.entries}});
    return all;
}

void print_facts(const std::string& file, const bundles::Facts& facts)
{
    FactList list;
    list.add("file", printable(file));
    list.add("id", facts.id);
    list.add("entries", std::to_string(facts.entries));
    list.add("size", format_size(facts.bytes));
    list.add("targets", shown(facts.targets));
    list.add("compilers", shown(facts.compilers));
    list.add("signed by", facts.signed_by ? facts.signed_by->text() : "nobody");
    if (!facts.base.empty())
        list.add("delta over", facts.base);
    list.print();
}

Json facts_as_json(const std::string& file, const bundles::Facts& facts)
{
    return {{"file", file},
            {"id", facts.id},
            {"entries", facts.entries},
            {"bytes", facts.bytes},
            {"targets", as_json(facts.targets)},
            {"compilers", as_json(facts.compilers)},
            {"signed_by", facts.signed_by ? Json(facts.signed_by->text()) : nullptr},
            {"base", facts.base.empty() ? nullptr : Json(facts.base)}};
}

// An exception from print() must not pass through the library.
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

int run_list_bundle(const Globals& /*globals*/, const ListBundleArguments& arguments)
{
    const bundles::Facts facts = or_fail(bundles::read(arguments.file));
    if (arguments.facts) {
        if (arguments.json)
            print_json(facts_as_json(arguments.file, facts));
        else
            print_facts(arguments.file, facts);
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
        print_facts(arguments.file, facts);
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

int run_verify(const Globals& /*globals*/, const VerifyArguments& arguments)
{
    const Trust trust = trust_of(arguments.trusted);
    const bundles::Verified report =
        or_fail(with_progress("Verifying", unless(arguments.json), [&](const Progress& progress) {
            return bundles::verify(arguments.file, trust, progress);
        }));
    const std::string signer = report.facts.signed_by ? report.facts.signed_by->text() : "";
    if (arguments.json) {
        print_json({{"file", arguments.file},
                    {"id", report.facts.id},
                    {"checked", report.checked},
                    {"intact", report.intact},
                    {"corrupt", report.corrupt},
                    {"other_version", report.other_version},
                    {"signed_by", signer.empty() ? nullptr : Json(signer)},
                    {"trusted", trust.signatures == Signatures::demanded},
                    {"problems", report.problems}});
    } else {
        FactList list;
        list.add("checked", std::to_string(report.checked));
        list.add("intact", std::to_string(report.intact));
        list.add("corrupt", std::to_string(report.corrupt));
        list.add("other version", std::to_string(report.other_version));
        list.add("signed by", signer.empty()              ? "nobody"
                              : arguments.trusted.empty() ? signer
                                                          : signer + ", which is trusted");
        list.print();
    }
    for (const std::string& problem : report.problems)
        warn(problem);
    return report.problems.empty() ? k_done : k_nothing;
}

}  // namespace

Trust trust_of(const std::vector<std::string>& texts)
{
    Trust trust;
    for (const std::string& text : texts) {
        trust.signatures = Signatures::demanded;
        if (const Result<PublicKey> key = PublicKey::parse(text))
            trust.trusted.push_back(*key);
        else if (const Result<std::vector<PublicKey>> keys = load_public_keys(text))
            trust.trusted.insert(trust.trusted.end(), keys->begin(), keys->end());
        else
            fail(text.starts_with("ed25519") ? key.error().message : keys.error().message);
    }
    return trust;
}

void add_bundle_ls(Command& bundle)
{
    Command command = bundle.part("ls", "Shows what a bundle is and what is in it",
                                  "  hearth bundle ls kernels.bundle\n"
                                  "  hearth bundle ls kernels.bundle --facts --json | jq '.targets[].name'\n"
                                  "  hearth bundle ls kernels.bundle 'gemm*' --json | jq -r .key");
    auto& arguments = command.runs(run_list_bundle);
    command.text("FILE", arguments.file, "The bundle").required();
    command.text("PATTERN", arguments.pattern, Pattern::k_help);
    command.flag("--facts", arguments.facts,
                 "Show only what the bundle says about itself, without reading its entries");
    command.json(arguments.json,
                 "One JSON object per line and entry, as 'hearth ls --json' prints; with --facts a single object");
}

void add_bundle_verify(Command& bundle)
{
    Command command = bundle.part("verify", "Reads a whole bundle and checks every byte of it",
                                  "  hearth bundle verify kernels.bundle\n"
                                  "  hearth bundle verify kernels.bundle --trusted build.pub\n"
                                  "  hearth bundle verify kernels.bundle --json | jq .corrupt",
                                  "Exit code 1: something is damaged, or of another version. Exit code 3: it is not a "
                                  "bundle, or not signed by a trusted key.");
    auto& arguments = command.runs(run_verify);
    command.text("FILE", arguments.file, "The bundle").required();
    command.repeated("--trusted", arguments.trusted, Commas::belong,
                     "A public key, or a file of them: one of them must have signed the bundle", "KEY");
    command.json(arguments.json);
}

}  // namespace hearth::cli
