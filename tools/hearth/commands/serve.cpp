#include "cache/open_cache.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#if defined(HEARTH_HAVE_MICROHTTPD)
#include "process/file_io.hpp"
#include "process/random_word.hpp"
#include "process/stop_signals.hpp"
#include "serve/listening.hpp"
#include "serve/routes.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include <poll.h>

namespace hearth::cli {

namespace {

struct ServeArguments {
    std::string port = "8417";
    std::string bind = "127.0.0.1";
    std::vector<std::string> hosts;
    std::optional<std::string> token_file;
    bool allow_changes = false;
};

#if defined(HEARTH_HAVE_MICROHTTPD)

constexpr std::size_t k_shortest_token = 16;

std::uint16_t port_number(const std::string& text)
{
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    if (const auto [stopped, error] = std::from_chars(text.data(), end, port); error != std::errc{} || stopped != end)
        fail_usage(fmt::format("{} is no port. Give a number from 0 (any that is free) to 65535. 'hearth serve --help' "
                               "shows what it takes.",
                               in_quotes(text)));
    return port;
}

// The first line of the file.
std::string read_token(const std::string& path)
{
    const Bytes bytes = read_whole(path, 4096);
    std::string token(as_text(bytes.view()));
    token.resize(std::min(token.find_first_of("\r\n"), token.size()));
    const bool plain = std::ranges::all_of(token, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
    });
    if (token.size() < k_shortest_token || !plain)
        fail(fmt::format("The token in {} must be one line of at least {} letters, digits, - and _. 'openssl rand -hex "
                         "16' makes one.",
                         in_quotes(path), k_shortest_token));
    return token;
}

// By which name others find it.
std::string name_for_others(const ServeArguments& arguments)
{
    if (!arguments.hosts.empty())
        return arguments.hosts.front();
    const bool is_any = arguments.bind == "0.0.0.0" || arguments.bind == "::";
    return is_any && !name_of_machine().empty() ? name_of_machine() : arguments.bind;
}

void tell_where(const ServeArguments& arguments, const std::string& place, const std::optional<std::string>& token)
{
    print_out("http://{}/{}\n", place, token && !arguments.token_file ? "?token=" + *token : std::string());
    finish_output();
    if (token && arguments.token_file)
        complain(fmt::format("the token in {} is demanded: open http://{}/?token=TOKEN, or send the header "
                             "\"Authorization: Bearer TOKEN\"",
                             in_quotes(*arguments.token_file), place));
}

int run_serve(const Globals& globals, const ServeArguments& arguments)
{
    const std::uint16_t port = port_number(arguments.port);
    const bool open = !is_loopback(arguments.bind);
    std::optional<std::string> token;
    if (arguments.token_file)
        token = read_token(*arguments.token_file);
    else if (open || arguments.allow_changes)
        token = random_word();

    const StopSignals signals;
    const HeldStopSignals held;  // before the server's thread starts, so that signals come to this one
    static_cast<void>(Microhttpd::get());
    Descriptor listening(listen_on(arguments.bind, port));
    const std::string place = with_port(name_for_others(arguments), port_of(listening.get()));
    const Access access(token, arguments.allow_changes ? Access::Changes::allowed : Access::Changes::forbidden,
                        port_of(listening.get()), arguments.hosts);
    Cache cache = open_cache(globals, arguments.allow_changes ? Use::change : Use::read, Remotes::yes);
    IndexKeeper entries(cache);
    Routes routes(cache, entries, access);
    HttpServer server(listening, [&](const HttpRequest& request) { return routes.answer(request); });
    tell_where(arguments, place, token);
    while (told_to_stop() == 0) {
        const timespec second{.tv_sec = 1, .tv_nsec = 0};
        static_cast<void>(::ppoll(nullptr, 0, &second, &held.mask_before()));
        server.send_idle_away();
    }
    return k_done;
}

#else

int run_serve(const Globals& /*globals*/, const ServeArguments& /*arguments*/)
{
    fail("This hearth was built without libmicrohttpd, and cannot serve. Build it again with libmicrohttpd (Debian: "
         "libmicrohttpd-dev). 'hearth report' writes the same page as a file.");
}

#endif

}  // namespace

void add_serve(Command& command)
{
    command.describe(
        "Shows the cache in a browser, and gives its figures to Prometheus, until it is stopped.",
        "  hearth serve                                 on this machine only\n"
        "  hearth serve --bind 0.0.0.0                  for others too; prints an address with a token\n"
        "  hearth serve --bind 0.0.0.0 --token-file /etc/hearth/token\n"
        "  hearth serve --host cache.example.com        behind a proxy of that name\n"
        "  hearth serve --allow-changes                 its buttons remove entries and reset counts",
        "A token is demanded where others can connect, and where changes are allowed. Prometheus sends it\n"
        "as 'authorization: {credentials_file: FILE}'.");
    auto& arguments = command.runs(run_serve);
    command.text("--port", arguments.port, "The port to listen on; 0: any that is free (otherwise 8417)", "N");
    command.text("--bind", arguments.bind, "The address to listen on (otherwise 127.0.0.1)", "ADDRESS");
    command.repeated("--host", arguments.hosts, Commas::separate, "Another host name to accept, such as a proxy's",
                     "NAME");
    command.text("--token-file", arguments.token_file, "Demand the token in this file", "FILE");
    command.flag("--allow-changes", arguments.allow_changes,
                 "Let clients with the token remove entries, clean up and reset counts");
}

}  // namespace hearth::cli
