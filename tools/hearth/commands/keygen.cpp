#include "hearth/trust.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

namespace hearth::cli {

namespace {

struct KeygenArguments {
    std::string file;
    bool only_public = false;
    bool json = false;
};

int run_keygen(const Globals& /*globals*/, const KeygenArguments& arguments)
{
    const SigningKey key = or_fail(arguments.only_public ? SigningKey::load(arguments.file) : SigningKey::generate());
    if (!arguments.only_public)
        if (const Status saved = key.save(arguments.file); !saved.ok())
            fail(saved.error().message);
    if (arguments.json) {
        print_json({{"file", arguments.file}, {"public_key", key.public_key().text()}});
        return k_done;
    }
    print_out("{}\n", key.public_key().text());
    if (arguments.only_public)
        return k_done;
    complain(fmt::format("The signing key is in {}: give it only to those who may write entries. Its public key, "
                         "on standard output, goes into HEARTH_TRUSTED_KEYS of those who read entries.",
                         in_quotes(arguments.file)));
    return k_done;
}

}  // namespace

void add_keygen(Command& command)
{
    command.describe("Makes a key to sign entries with, and prints its public key.",
                     "  hearth keygen build.key > build.pub\n"
                     "  hearth keygen --public build.key\n"
                     "  HEARTH_SIGN_WITH=build.key hearth compile saxpy.cu --target sm_90\n"
                     "  HEARTH_TRUSTED_KEYS=build.pub HEARTH_DEMAND_SIGNATURES=remotes hearth run -- python serve.py",
                     "An existing file is never replaced. docs/security.md says what signatures promise.");
    auto& arguments = command.runs(run_keygen);
    command.text("FILE", arguments.file, "Where to write the signing key; only its owner can read the file").required();
    command.flag("--public", arguments.only_public, "Make no key: print the public key of the one in FILE");
    command.json(arguments.json);
}

}  // namespace hearth::cli
