#include "hearth/cache.hpp"
#include "remote/server_conformance.hpp"
#include "remote/store_tier.hpp"
#include "support/manual_clock.hpp"
#include "support/peak_memory.hpp"
#include "support/rogue_server.hpp"
#include "support/scratch_directory.hpp"
#include "support/storing.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hearth::test {

namespace {

// What is larger than a remote's limit, which is 256 MiB unless somebody says otherwise, takes no memory.
constexpr std::uint64_t k_huge = 1_GiB;

// What a store says about everything that it can be asked for.
std::vector<Error> all_errors(remotes::RemoteStore& store, bool lists)
{
    std::vector<Error> errors;
    const auto note = [&](const auto& result) {
        EXPECT_FALSE(result.ok());
        if (!result.ok())
            errors.push_back(result.error());
    };
    const std::vector<std::string> names(50, "name");
    const Bytes bytes = bytes_for(1, 10);
    const std::vector<remotes::Object> objects(2, {"name", bytes});
    note(store.get("name", soon()));
    note(store.put("name", bytes, soon()));
    note(store.remove("name", soon()));
    for (const auto& got : store.get_many(names, soon()))
        note(got);
    for (const auto& has : store.has_many(names, soon()))
        note(has);
    for (const auto& put : store.put_many(objects, soon()))
        note(put);
    if (lists)
        note(store.list([](auto, auto) { return true; }, soon()));
    return errors;
}

std::unique_ptr<remotes::StoreTier> tier_at(const std::string& url, const ServerKind& kind, const ManualClock& clock)
{
    // A slow machine is no reason to fail; the limit is the usual one.
    const RemoteOptions options{.url = url, .name = kind.name, .timeout = std::chrono::seconds(20)};
    return std::make_unique<remotes::StoreTier>(options, remotes::parse_url(url).value(),
                                                TierContext{&clock, {}, lru()}, kind.open);
}

void expect_little(const PeakMemory& memory)
{
    EXPECT_LT(memory.resident(), 256_MiB);  // sanitizers keep what was freed
    EXPECT_LT(memory.addresses(), 512_MiB) << "threads reserve some for what they may allocate";
}

}  // namespace

TEST_P(FaultConformance, a_wrong_secret_is_denied_and_not_told)
{
    const auto server = start_plain({.demands_login = true});
    for (const std::string& login : GetParam().wrong_logins) {
        const auto spoilt = GetParam().spoil_secret ? GetParam().spoil_secret() : nullptr;
        for (const Error& error : all_errors(*open(url_at(server, login)), GetParam().lists)) {
            EXPECT_EQ(error.code, Code::denied) << login << ": " << error.message;
            EXPECT_EQ((error.message + error.log).find("wr0ng"), std::string::npos) << error.message;
        }
    }
    EXPECT_EQ(code_of(open(url_at(server, GetParam().right_login))->put("name", bytes_for(1, 9), soon())), "ok");
}

// A server that does not let us in is an outage, and said; it is not a miss.
TEST_P(FaultConformance, a_wrong_secret_is_an_outage_of_a_cache)
{
    const auto server = start_plain({.demands_login = true});
    const ScratchDirectory scratch;
    std::mutex mutex;
    std::string log;
    const auto open_cache = [&](const std::string& login) {
        RemoteOptions remote{.url = url_at(server, login), .name = "server"};
        remote.connect_timeout = remote.timeout = remote.write_timeout = std::chrono::seconds(60);
        CacheOptions options;
        options.directory = scratch / "cache";
        options.maintenance = Maintenance::by_hand;
        options.log = [&](LogLevel, std::string_view line) {
            const std::lock_guard lock(mutex);
            log.append(line).append("\n");
        };
        options.tiers = {{"server", [=](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                              return {std::make_unique<remotes::StoreTier>(
                                  remote, remotes::parse_url(remote.url).value(), context, GetParam().open)};
                          }}};
        return Cache::open(options).value();
    };
    {
        Cache right = open_cache(GetParam().right_login);
        EXPECT_EQ(right.find(numbered_key(1)).why(), Miss::absent) << "with the right one it is a miss";
        EXPECT_EQ(right.stats().tiers.at(0).misses, 1U);
    }
    const auto spoilt = GetParam().spoil_secret ? GetParam().spoil_secret() : nullptr;
    Cache cache = open_cache(GetParam().wrong_logins.front());
    EXPECT_EQ(cache.find(numbered_key(1)).why(), Miss::outage);
    const Result<Lookup> made = cache.get_or_compile(numbered_key(2), [] { return "made"; });
    ASSERT_TRUE(made.ok()) << "the program goes on";
    EXPECT_TRUE(made->compiled());
    cache.flush();
    const Stats stats = cache.stats();
    EXPECT_EQ(stats.outages, 2U);
    EXPECT_EQ(stats.misses_in_all(), 0U);
    EXPECT_EQ(stats.tiers.at(0).misses, 0U);
    EXPECT_GE(stats.tiers.at(0).outages, 2U);
    EXPECT_EQ(stats.tiers.at(0).stores, 0U);
    const remotes::Report& report = stats.tiers.at(0).remote.value();
    EXPECT_FALSE(report.problem.empty());
    const std::lock_guard lock(mutex);
    EXPECT_FALSE(log.empty());
    for (const std::string& text : {log, report.problem, report.server})
        EXPECT_EQ(text.find("wr0ng"), std::string::npos) << text;
}

TEST_P(FaultConformance, says_whom_it_talks_to_and_when_that_ended_it_is_unavailable)
{
    const auto server = start_plain();
    const auto store = open_at(server);
    const std::string address = "127.0.0.1:" + std::to_string(server.port);
    const std::string before = store->description();
    EXPECT_TRUE(before.ends_with(address)) << before;
    ASSERT_EQ(code_of(store->get("name", soon())), "ok");
    EXPECT_TRUE(store->description().starts_with(GetParam().calls_itself)) << store->description();
    EXPECT_TRUE(store->description().ends_with(" at " + address)) << store->description();
    EXPECT_NE(store->description(), before) << "it has been reached";

    ASSERT_EQ(code_of(store->put("name", bytes_for(1, 3'000'000), soon())), "ok");
    server.process->kill();
    EXPECT_EQ(code_of(store->put("name", bytes_for(1, 3'000'000), soon())), "unavailable");
    for (const Error& error : all_errors(*store, GetParam().lists)) {
        EXPECT_EQ(error.code, Code::unavailable) << error.message;
        EXPECT_NE(error.message.find(std::to_string(server.port)), std::string::npos) << error.message;
    }
}

TEST_P(FaultConformance, a_server_that_was_restarted_is_found_again)
{
    const auto server = start_plain();
    const auto store = open_at(server);
    const auto restart = [&] {
        server.process->kill();
        server.start_again();
    };
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(code_of(store->put("name", bytes_for(1, 300'000), soon())), "ok");
        EXPECT_EQ(store->get("name", soon()).value().value(), bytes_for(1, 300'000));
        restart();
        const auto got = store->get("name", soon());
        ASSERT_EQ(code_of(got), "ok");
        EXPECT_EQ(*got, GetParam().keeps ? std::optional(bytes_for(1, 300'000)) : std::nullopt);
        restart();
        EXPECT_EQ(code_of(store->put("name", bytes_for(1, 100), soon())), "ok");
        if (!GetParam().leases)
            continue;
        restart();
        EXPECT_TRUE(store->put_if_absent("lease", bytes_for(1, 9), std::chrono::seconds(60), soon()).value());
    }
}

TEST_P(FaultConformance, a_late_answer_is_never_taken_for_anothers)
{
    const auto server = start_plain();
    const auto store = open_at(server);
    ASSERT_EQ(code_of(store->put("a", bytes_for(1, 50'000), soon())), "ok");
    ASSERT_EQ(code_of(store->put("b", bytes_for(2, 50'000), soon())), "ok");
    const auto brief = [] { return in(std::chrono::milliseconds(50)); };
    for (int i = 0; i < 3; ++i) {
        server.process->signal(SIGSTOP);
        EXPECT_EQ(code_of(store->get("a", brief())), "timeout");
        EXPECT_EQ(code_of(store->put("c", bytes_for(3, 10), brief())), "timeout");
        for (const auto& one : store->get_many(std::vector<std::string>{"a", "b"}, brief()))
            EXPECT_EQ(code_of(one), "timeout");
        server.process->signal(SIGCONT);
        EXPECT_EQ(store->get("b", soon()).value().value(), bytes_for(2, 50'000));
        EXPECT_EQ(store->get("a", soon()).value().value(), bytes_for(1, 50'000));
        EXPECT_FALSE(store->get_many(std::vector<std::string>{"a", "none"}, soon())[1].value().has_value());
    }
}

// Nothing is told apart by how long it takes: this one never answers, and there is all the time to wait for it.
TEST_P(FaultConformance, a_server_that_cannot_be_reached_is_unavailable_and_not_slow)
{
    // Whoever comes while the queue is full is not answered.
    std::uint16_t port = 0;
    const int listener = listen_on_loopback(port, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int first = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(first, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    remotes::StoreOptions options = options_for(url_of({.port = port, .tls = GetParam().tls}));
    options.connect_timeout = std::chrono::milliseconds(50);
    const auto got = GetParam().open(options).value()->get("name", soon());
    EXPECT_EQ(code_of(got), "unavailable");
    ::close(first);
    ::close(listener);
}

TEST_P(FaultConformance, an_entry_of_a_gigabyte_is_a_miss_before_memory_is_taken_for_it)
{
    // It announces one, and sends more of it than any buffer on the way can hold.
    const RogueServer server(GetParam().sends_a_gigabyte + std::string(16_MiB, 'x'), RogueServer::Then::stay);
    const std::string url = url_of({.port = server.port()});
    const ManualClock clock;
    const auto tier = tier_at(url, GetParam(), clock);
    const std::vector<Key> keys{numbered_key(1), numbered_key(2)};
    EXPECT_EQ(tier->find(numbered_key(3)).why, Miss::other_version) << "so that libraries are set up";
    const PeakMemory memory;
    EXPECT_EQ(tier->find(keys[0]).why, Miss::other_version);
    for (const Found& found : tier->fetch_many(keys))
        EXPECT_EQ(found.why, Miss::other_version);
    expect_little(memory);
    EXPECT_EQ(tier->report().state, remotes::State::working) << "the server is well, and is asked again";
    EXPECT_EQ(tier->report().corrupt, 0U);
    EXPECT_EQ(tier->report().fetched_bytes, 0U);

    remotes::StoreOptions usual = options_for(url);
    usual.max_object_bytes = RemoteOptions{}.max_entry_bytes;
    const auto got = GetParam().open(usual).value()->get("name", soon());
    ASSERT_EQ(code_of(got), "too_large");
    EXPECT_NE(got.error().message.find("268435456"), std::string::npos) << got.error().message;
}

TEST_P(FaultConformance, an_entry_of_a_gigabyte_is_not_sent)
{
    const RogueServer server(GetParam().takes_all, RogueServer::Then::stay);
    const std::string url = url_of({.port = server.port()});
    const ManualClock clock;
    const auto tier = tier_at(url, GetParam(), clock);
    // Pages of it exist once they are written to, and nobody does.
    const Entry entry(sample_artifact(numbered_key(1), 100), Bytes::make(k_huge, [](std::span<std::byte>) {}));
    const auto store = open(url);
    const PeakMemory memory;
    const auto stored = store_in(*tier, numbered_key(1), entry);
    ASSERT_EQ(code_of(stored), "too_large");
    EXPECT_NE(stored.error().message.find("max_entry_bytes"), std::string::npos) << stored.error().message;
    EXPECT_EQ(code_of(store->put("name", entry.encoded(), soon())), "too_large");
    tier->flush();
    expect_little(memory);
    EXPECT_EQ(tier->report().queued_bytes, 0U);
    EXPECT_EQ(server.connections(), 0);
}

}  // namespace hearth::test
