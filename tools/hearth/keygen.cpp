#include "commands.hpp"
#include "exit.hpp"
#include "hearth/trust.hpp"
#include "output.hpp"
#include "text.hpp"

#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

struct Arguments {
    std::string file;
    bool json = false;
};

int run_keygen(const Globals& /*globals*/, const Arguments& arguments)
{
    const Result<SigningKey> key = SigningKey::generate();
    if (!key)
        fail(key.error().message);
    if (const Status saved = key->save(arguments.file); !saved.ok())
        fail(saved.error().message);
    if (arguments.json) {
        print_json({{"file", arguments.file}, {"public_key", key->public_key().text()}});
        return k_done;
    }
    print_out("{}\n", key->public_key().text());
    complain(fmt::format("The signing key is in {}: keep it to those who may write. The line above is its public key: "
                         "put it into HEARTH_TRUSTED_KEYS of those who read.",
                         in_quotes(arguments.file)));
    return k_done;
}

}  // namespace

void add_keygen(CommandLine& line)
{
    CLI::App& command = line.add("keygen", "Makes a key to sign entries with, and prints its public key.",
                                 "  hearth keygen build.key > build.pub\n"
                                 "  HEARTH_SIGN_WITH=build.key hearth compile saxpy.cu --arch sm_90\n"
                                 "  HEARTH_TRUSTED_KEYS=build.pub HEARTH_DEMAND_SIGNATURES=remotes python serve.py",
                                 "An existing file is never replaced. docs/security.md says what signatures promise.");
    auto arguments = std::make_shared<Arguments>();
    add_text(command, "FILE", arguments->file, "Where the signing key goes, for its owner's eyes only")->required();
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_keygen);
}

}  // namespace hearth::cli
