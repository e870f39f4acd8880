#pragma once

#include "hearth/api.hpp"
#include "hearth/artifact.hpp"
#include "hearth/key.hpp"
#include "hearth/lease.hpp"
#include "hearth/options.hpp"
#include "hearth/policy.hpp"
#include "hearth/remote.hpp"
#include "hearth/result.hpp"
#include "hearth/stats.hpp"
#include "hearth/tier.hpp"

#include <concepts>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hearth {

class Vram;

enum class CompiledBy : std::uint8_t {
    nobody,     // a tier had it
    this_call,  // this very call compiled it
    another,    // another thread, process or node, whom this call waited for
};

// A hit with its artifact under lease, or a miss with its reason.
class [[nodiscard]] Lookup {
public:
    Lookup() = default;
    explicit Lookup(Miss why) : m_why(why) {}
    Lookup(ArtifactLease artifact, const std::string* tier, const std::string* promoted_to = nullptr)
        : m_artifact(std::move(artifact)), m_tier(tier), m_promoted_to(promoted_to)
    {
    }
    Lookup(ArtifactLease artifact, CompiledBy by, Miss why) : m_artifact(std::move(artifact)), m_why(why), m_by(by) {}

    bool hit() const noexcept { return static_cast<bool>(m_artifact); }
    explicit operator bool() const noexcept { return hit(); }
    const Artifact& operator*() const noexcept { return *m_artifact; }
    const Artifact* operator->() const noexcept { return m_artifact.get(); }
    const ArtifactLease& lease() const noexcept { return m_artifact; }
    std::shared_ptr<const Artifact> share() const { return m_artifact.share(); }

    // Of a miss; of what was compiled, why it had to be.
    Miss why() const noexcept { return m_why; }
    // The tier that had it, empty when it was compiled; valid while the Cache is open.
    std::string_view tier() const noexcept { return m_tier ? std::string_view(*m_tier) : std::string_view{}; }
    bool compiled() const noexcept { return m_by != CompiledBy::nobody; }
    // Another compiled it, and this lookup only waited.
    bool waited() const noexcept { return m_by == CompiledBy::another; }
    // The tier this very lookup moved the entry up into; empty when it stayed where it was.
    std::string_view promoted_to() const noexcept
    {
        return m_promoted_to ? std::string_view(*m_promoted_to) : std::string_view{};
    }

private:
    ArtifactLease m_artifact;
    const std::string* m_tier = nullptr;
    const std::string* m_promoted_to = nullptr;
    Miss m_why = Miss::absent;
    CompiledBy m_by = CompiledBy::nobody;
};

using Maker = std::function<Result<Artifact>()>;

// Makers may return an Artifact, Bytes, text, or a Result of one of these.
template <class F>
concept Makes = std::invocable<F&> &&
    (std::convertible_to<std::invoke_result_t<F&>, Result<Artifact>> ||
     std::constructible_from<Artifact, std::invoke_result_t<F&>> || requires(std::invoke_result_t<F&> r) {
         {
             r.ok()
             } -> std::same_as<bool>;
         requires std::constructible_from<Artifact, decltype(std::move(r).value())>;
     });

struct InsertReport {
    std::vector<std::string> tiers;    // that hold it now, in lookup order
    std::vector<std::string> refused;  // a sentence for each tier that could not take it
};

struct InsertOptions {
    std::string tier{};  // only into this one; empty: the fastest that can hold it, and every persistent one
    // False for what is only derived from what this machine has: no statistics count it, and no server gets it.
    bool counted = true;
};

struct GetOptions {
    std::chrono::milliseconds deadline{0};  // 0: wait as long as it takes
    Metadata metadata{};                    // for a maker that returns plain bytes
    // What the make is expected to take, for CacheOptions::race_under. 0: as long as others of this process, on
    // average.
    std::chrono::milliseconds expected{0};
    // False for what is only derived from what this machine has: no statistics count it, no server is asked for it, and
    // it is made even where making is forbidden.
    bool counted = true;
    // True for a maker that owns all it uses, so that it may still run when its caller has an answer and is gone: only
    // such makes are raced against servers. One with a deadline must be of that kind anyway.
    bool may_outlive = false;
};

// What a promotion or demotion by hand did.
struct MoveReport {
    enum class Outcome : std::uint8_t {
        moved,           // it is in `to` now
        not_found,       // no tier holds it
        already_top,     // nothing faster to move to
        already_bottom,  // nothing slower to move to
        does_not_fit,    // larger than the target's capacity; the target is as it was
        refused,         // the target could not take it; `reason` says why
    };
    Outcome outcome = Outcome::not_found;
    std::string from;
    std::string to;
    std::string reason;
};
HEARTH_API std::string_view to_string(MoveReport::Outcome outcome);

struct TierStatus {
    std::string name;
    TierTraits traits;
    Limits limits;
    TierUsage usage;
};

struct GcOptions {
    std::optional<std::uint64_t> max_bytes{};  // of the persistent tiers; for this run only
    std::optional<std::uint64_t> max_entries{};
    std::optional<std::chrono::seconds> unused_for{};
};

struct GcReport {
    std::uint64_t removed_entries = 0;
    std::uint64_t removed_bytes = 0;
    TierUsage left;
};

struct TransferReport {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::uint64_t rejected = 0;  // corrupt, or of another format version
    std::uint64_t already_there = 0;
    std::vector<std::string> problems;  // a sentence each, the first hundred
};

// Where compiles are recorded, and who is told when that fails.
struct Recording {
    std::string path;  // absolute
    LogSink log;
};

// The cache: several tiers, fastest first, behind one lookup.
// Thread safety: every function, from any thread. Not copyable; movable while no other thread uses it.
// Failure: a broken tier costs hits, never the program. No exception leaves this class; what a maker throws comes back
// as an Error.
// Cost: find() in memory takes no lock, allocates nothing and writes no cache line another thread reads.
class HEARTH_API Cache {
public:
    // With what the options say, then the environment, then the configuration file, then defaults.
    static Result<Cache> open(CacheOptions options = {});

    Cache(Cache&&) noexcept;
    Cache& operator=(Cache&&) noexcept;
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    ~Cache();

    Lookup find(const Key& key);
    // The same, counted neither as a lookup nor as a use.
    Lookup peek(const Key& key);
    Result<InsertReport> insert(const Key& key, Artifact artifact, const InsertOptions& options = {});
    Result<InsertReport> insert(const Request& request, Artifact artifact, const InsertOptions& options = {});

    // The entry, made at most once here and on this machine however many ask for it at the same time.
    template <Makes F>
    Result<Lookup> get_or_make(const Key& key, F&& make, const GetOptions& options = {})
    {
        Servers servers = Servers::asked;
        Lookup found = look(key, options, servers);
        if (found && !found->failed())
            return found;
        return make_missing(key, {}, as_maker(std::forward<F>(make)), options, std::move(found), servers);
    }
    template <Makes F>
    Result<Lookup> get_or_make(const Request& request, F&& make, const GetOptions& options = {})
    {
        Servers servers = Servers::asked;
        Lookup found = look(request.key(), options, servers);
        if (found && !found->failed())
            return found;
        return make_missing(request.key(), request.encoding(), as_maker(std::forward<F>(make)), options,
                            std::move(found), servers);
    }
    // The same without waiting. Makers run on the cache's own workers, started when first needed, with signals blocked.
    template <Makes F>
    std::future<Result<Lookup>> get_or_make_async(const Request& request, F&& make, const GetOptions& options = {})
    {
        return make_later(request.key(), request.encoding(), as_maker(std::forward<F>(make)), options);
    }
    template <Makes F>
    std::future<Result<Lookup>> get_or_make_async(const Key& key, F&& make, const GetOptions& options = {})
    {
        return make_later(key, {}, as_maker(std::forward<F>(make)), options);
    }

    // Runs `work` on one of the cache's workers; with an Error instead, when the cache closes before its turn comes.
    void run_later(std::function<void(const Status&)> work);

    // For what cannot be cached: makes it, looks nothing up and stores nothing. Counted as a miss, bypassed.
    template <Makes F>
    Result<Lookup> make_uncached(F&& make, const Metadata& metadata = {})
    {
        return make_past(as_maker(std::forward<F>(make)), metadata);
    }

    bool remove(const Key& key);
    // The tiers that hold it, in lookup order. No lookup is counted.
    std::vector<std::string> where(const Key& key);
    MoveReport promote(const Key& key);
    MoveReport demote(const Key& key);

    std::vector<TierStatus> tiers();
    // Both take effect before they return.
    Status set_limits(std::string_view tier, const Limits& limits);
    Status set_policy(std::string_view tier, const PolicyFactory& policy);

    // Its tier in device memory, the first or the one of that name; hearth/vram.hpp.
    Vram vram(std::string_view tier = {});

    std::optional<EntryRow> info(const Key& key);
    // Every entry once, with the fastest tier that holds it.
    void list(const std::function<bool(const EntryRow&)>& visit);
    std::vector<EntryRow> hottest(std::size_t count);

    VerifyReport verify(Repair repair, const Progress& progress = {});
    GcReport gc(const GcOptions& options, const Progress& progress = {});
    // Only entries `choose` says yes to; all of them without one. Import verifies each before it is stored.
    Result<TransferReport> export_to(const std::string& path, const std::function<bool(const EntryRow&)>& choose = {},
                                     const Progress& progress = {});
    Result<TransferReport> import_from(const std::string& path, const Progress& progress = {});

    // Of a tier on a server. It is asked even where it is left alone for now.
    Result<remote::Check> check_remote(std::string_view tier, std::uint64_t samples = 100);
    // Entries of this machine that `choose` says yes to, to a tier on a server; what it has is not sent again.
    Result<TransferReport> push(std::string_view tier, const std::function<bool(const EntryRow&)>& choose = {},
                                const Progress& progress = {});
    // Entries of the server that `choose` says yes to, to the persistent tiers here; each is verified first.
    Result<TransferReport> pull(std::string_view tier, const std::function<bool(const EntryRow&)>& choose = {},
                                const Progress& progress = {});

    // Everything that is still on its way is stored, and uses and statistics are written down.
    void flush();
    void clear_memory();
    void clear();
    // What the background thread does, now and here.
    void maintain();

    Stats stats(Scope scope = Scope::process);
    void reset_stats();

    // Whether makes may be raced against servers: then it is worth a copy to let a maker outlive its caller.
    bool races() const noexcept;

    // For compilers, which record what they are asked for; null: nowhere. docs/recipes.md.
    const Recording* recording() const noexcept;

    // For Hearth itself: what a cache is made of.
    struct Parts;
    explicit Cache(std::unique_ptr<Parts> parts);
    Parts& parts() noexcept { return *m_parts; }

private:
    template <class F>
    static Maker as_maker(F&& make)
    {
        using R = std::invoke_result_t<F&>;
        if constexpr (std::convertible_to<R, Result<Artifact>>)
            return Maker(std::forward<F>(make));
        else if constexpr (std::constructible_from<Artifact, R>)
            return [make = std::forward<F>(make)]() mutable -> Result<Artifact> { return Artifact(make()); };
        else
            return [make = std::forward<F>(make)]() mutable -> Result<Artifact> {
                auto made = make();
                if (!made.ok())
                    return made.error();
                return Artifact(std::move(made).value());
            };
    }

    // Not asked yet: servers are raced against the compile.
    enum class Servers : std::uint8_t { asked, not_asked };
    Lookup look(const Key& key, const GetOptions& options, Servers& servers);
    Result<Lookup> make_missing(const Key& key, const Bytes& request, Maker make, const GetOptions& options,
                                Lookup found, Servers servers);
    std::future<Result<Lookup>> make_later(const Key& key, const Bytes& request, Maker make, const GetOptions& options);
    Result<Lookup> make_past(Maker make, const Metadata& metadata);

    std::unique_ptr<Parts> m_parts;
};

}  // namespace hearth
