#pragma once

#include "hearth/tier.hpp"
#include "hearth/trust.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

// Tiers that a fleet shares: Redis, Redis Cluster, HTTP and S3. One node compiles, every node hits; and no program
// waits for a server that is not well.

namespace hearth {

enum class FleetLease : std::uint8_t {
    off,
    on,  // a node that compiles says so in the remote; others wait for its result, for a limited time
};

struct RemoteOptions {
    // redis://HOST:PORT, rediss://, redis+unix:///PATH, redis+cluster://HOST:PORT,HOST:PORT, http(s)://HOST/PATH,
    // s3://BUCKET/PREFIX. What follows a '?' may set the other options: docs/remote.md.
    std::string url{};
    std::string name{};  // empty: the kind of server, "redis", "http" or "s3"
    Access access = Access::read_write;
    std::chrono::milliseconds connect_timeout{100};
    std::chrono::milliseconds timeout{500};  // of a lookup, from beginning to end
    // A lookup that has no reply after this time is sent a second time, and the first reply counts. 0: never.
    std::chrono::milliseconds hedge_after{0};
    std::chrono::milliseconds write_timeout{5000};  // of a write, which nobody waits for
    std::uint64_t max_entry_bytes = 256_MiB;        // larger ones, packed or not, are neither fetched nor sent
    std::uint64_t queue_bytes = 64_MiB;             // on their way out; what does not fit is dropped and counted
    std::uint64_t queue_entries = 1024;
    std::chrono::milliseconds exit_wait{2000};  // for what is still on its way, when the cache is closed
    FleetLease lease = FleetLease::on;
    std::chrono::milliseconds lease_time{15000};  // renewed during a compile; a dead holder's lease ends after it
    Trust trust{};
    // Where processes of this machine tell each other that a server is down; empty: each finds out by itself.
    std::string state_directory{};
    Users state_users = Users::one;  // of the directory in which that is
};

// A tier on a server; nothing is asked of it before it is needed.
HEARTH_API TierSpec remote(RemoteOptions options);
HEARTH_API TierSpec remote(std::string url);

namespace remotes {

// Whether lookups go to the server.
enum class State : std::uint8_t {
    unused,   // nothing was asked of it yet
    working,  // yes
    down,     // not for now: it failed, and one process of the machine tries it now and then
};
HEARTH_API std::string_view to_string(State state);

// What a remote did and how it is. Counts are of this process.
struct Report {
    State state = State::unused;
    std::string server;   // its address, without secrets
    std::string problem;  // why it is down, or the last thing that went wrong; empty: nothing did
    std::uint64_t fetched_bytes = 0;
    std::uint64_t sent = 0;  // entries
    std::uint64_t sent_bytes = 0;
    std::uint64_t queued = 0;
    std::uint64_t queued_bytes = 0;
    std::uint64_t dropped = 0;    // entries that were not sent: the queue was full, or the server did not take them
    std::uint64_t untrusted = 0;  // entries without the signature that is demanded
    std::uint64_t corrupt = 0;
    std::uint64_t leases = 0;       // taken for compiles here
    std::uint64_t lease_waits = 0;  // times that another's compile was waited for
    std::string lease_problem;      // why there are no leases, if there are none
};

// What `hearth remote check` shows.
struct Check {
    Status reachable;
    Status writable;  // Code::unavailable if it is configured to be read only
    bool leases = false;
    std::uint64_t samples = 0;
    double p50_us = 0;  // of fetching a small object
    double p99_us = 0;
    std::string server;
};

}  // namespace remotes

struct KeyedEntry {
    Key key;
    Entry entry;
};

// A tier on a server that others use too. We give it no budget: the server evicts as it is set up to.
// Thread safety and failure: as Tier. find() and peek() take at most the timeout, and no time while the server is down.
// store() never waits: entries go out on a thread of the tier's own.
class RemoteTier : public Tier {
public:
    // True while the server is left alone because it failed: find() would give Miss::outage. Cheaper than find().
    virtual bool resting() = 0;
    virtual remotes::Report report() = 0;
    virtual remotes::Check check(std::uint64_t samples) = 0;
    // Many keys in few round trips. They return one result for each, in the same order.
    virtual std::vector<Result<bool>> has_many(std::span<const Key> keys) = 0;
    virtual std::vector<Found> fetch_many(std::span<const Key> keys) = 0;
    virtual std::vector<Status> send_many(std::span<const KeyedEntry> entries) = 0;
    // `goes_on` is asked now and then, also where the server names nothing: false ends it.
    virtual Status for_each_key(const std::function<bool(const Key&)>& visit,
                                const std::function<bool()>& goes_on = {}) = 0;
    // As fetch_many(), but each is handed over before the next is unpacked: what is small on a server may be large.
    virtual void fetch_each(std::span<const Key> keys, const std::function<void(std::size_t number, Found found)>& take)
    {
        for (std::size_t i = 0; i < keys.size(); ++i)
            take(i, std::move(fetch_many(keys.subspan(i, 1)).front()));
    }
};

}  // namespace hearth
