#include "bundle.hpp"
#include "exit.hpp"
#include "output.hpp"
#include "progress_bar.hpp"
#include "table.hpp"

#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string file;
    std::vector<std::string> trusted;
    bool json = false;
};

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

int run_verify(const Globals& /*globals*/, const Arguments& arguments)
{
    const Trust trust = trust_of(arguments.trusted);
    const Result<bundles::Verified> report = [&] {
        ProgressBar bar("Verifying", arguments.json ? Wanted::no : Wanted::yes);
        return bundles::verify(arguments.file, trust, bar.report());
    }();
    if (!report)
        fail(report.error().message);
    const std::string signer = report->facts.signed_by ? report->facts.signed_by->text() : "";
    if (arguments.json) {
        nlohmann::ordered_json object{
            {"file", arguments.file},      {"id", report->facts.id},
            {"checked", report->checked},  {"intact", report->intact},
            {"corrupt", report->corrupt},  {"incompatible", report->other_version},
            {"signed_by", nullptr},        {"trusted", trust.signatures == Signatures::demanded},
            {"problems", report->problems}};
        if (!signer.empty())
            object["signed_by"] = signer;
        print_json(object);
    } else {
        FactList list;
        list.add("checked", std::to_string(report->checked));
        list.add("intact", std::to_string(report->intact));
        list.add("corrupt", std::to_string(report->corrupt));
        list.add("other version", std::to_string(report->other_version));
        list.add("signed by", signer.empty()              ? "nobody"
                              : arguments.trusted.empty() ? signer
                                                          : signer + ", which is trusted");
        list.print();
    }
    for (const std::string& problem : report->problems)
        warn(problem);
    return report->problems.empty() ? k_done : k_nothing;
}

}  // namespace

void add_bundle_verify(CommandLine& line, CLI::App& bundle)
{
    CLI::App& command = add_part(bundle, "verify", "Reads a whole bundle and checks every byte of it",
                                 "  hearth bundle verify kernels.bundle\n"
                                 "  hearth bundle verify kernels.bundle --trusted build.pub\n"
                                 "  hearth bundle verify kernels.bundle --json | jq .corrupt",
                                 "Exit code 1: something is damaged, or of another version. Exit code 3: it is no "
                                 "bundle, or not signed by a key that is trusted.");
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "FILE", arguments->file, "The bundle")->required();
    command
        .add_option("--trusted", arguments->trusted,
                    "A public key, or a file of them: the bundle must be signed by one. May be given again")
        ->type_name("KEY")
        ->allow_extra_args(false);
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_verify);
}

}  // namespace hearth::cli
