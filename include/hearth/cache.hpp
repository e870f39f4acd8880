#pragma once

#include "hearth/api.hpp"
#include "hearth/artifact.hpp"
#include "hearth/compile_function.hpp"
#include "hearth/key.hpp"
#include "hearth/lookup.hpp"
#include "hearth/options.hpp"
#include "hearth/result.hpp"
#include "hearth/stats.hpp"
#include "hearth/trust.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

class Vram;

enum class EntryKind : std::uint8_t {
    result,    // of a compile
    derived,   // from what this machine has: not counted, not sent to servers, compiled even if compiling is forbidden
    manifest,  // what is known of a question before it is compiled: not counted, and sent to servers
};

// How far a change goes.
enum class Reach : std::uint8_t {
    this_machine,  // what others use too, on servers, stays
    everywhere,
};

struct InsertOptions {
    std::string tier{};  // only into this one; empty: the fastest that can hold it, and every persistent one
    EntryKind kind = EntryKind::result;
    // compiled: its caller has just compiled it, in the time that its cost says. Counted as a compile.
    enum class Source : std::uint8_t { found, compiled } source = Source::found;
};

struct InsertReport {
    std::vector<std::string> tiers;    // those that hold it now, in lookup order
    std::vector<std::string> refused;  // a sentence for each tier that could not take it
};

enum class Captures : std::uint8_t {
    borrowed,  // the compile function uses what belongs to its caller
    owned,     // it owns all it uses, and may go on running after its caller has its result
};

// Where the time of a compile is counted.
enum class Timed : std::uint8_t {
    by_itself,
    within_another,  // that this cache counts too, as that of a compiler which starts others
};

struct GetOptions {
    // How long the caller waits at most; if set, captures must be owned. After that it gets Code::timeout, while the
    // compile goes on for whoever asks next. 0: CacheOptions::compile_time_limit, if captures are owned.
    std::chrono::milliseconds deadline{0};
    Metadata metadata{};  // for a compile function that returns plain bytes
    // How long the compile is expected to take, for CacheOptions::race_under. 0: as long as the compiles of this
    // process took on average.
    std::chrono::milliseconds expected{0};
    EntryKind kind = EntryKind::result;
    Captures captures = Captures::borrowed;  // only compiles with owned captures are raced against servers
    Timed timed = Timed::by_itself;
};

// Where compiles are recorded, and who is told when that fails.
struct Recording {
    std::string path;  // absolute
    LogSink log;
    std::optional<SigningKey> sign_with{};  // signs results that are recorded
};

// The cache: several tiers, fastest first, behind one lookup. (hearth/admin.hpp has the functions for operators.)
// Thread safety: every function, from any thread. Not copyable; movable while no other thread uses it, with
// programs, kernels and futures that came of it. One that was moved from finds nothing, and answers with errors.
// Lifetime: leases outlive it. Whatever runs on its workers may own the last of it; what waits for a worker when it is
// closed is given an Error.
// Re-entrance: compile functions may use the cache; of those that ask for each other in a circle, one gets an Error.
// (What a compile function waits for by a thread of its own, or by run_later(), is not seen.) on_evict may look things
// up, and use other caches, but what it stores, moves or evicts here is refused and what it removes stays.
// Failure: a broken tier costs hits, never the program. No exception leaves this class; what a compile function throws
// comes back as an Error.
// Cost: a hit in memory takes no lock, allocates nothing and writes no cache line that another thread reads.
class HEARTH_API Cache {
public:
    // Each setting comes from the options, else the environment, else the configuration file, else the defaults.
    static Result<Cache> open(CacheOptions options = {});
    // The one cache of this process, opened with open() when it is first asked for. It cannot fail: what cannot be
    // opened is left out, and the log says so. It stays until the process has ended, so anything may use it at any
    // time; when the program ends, it is flushed as by flush(), and what it still compiles is not waited for. So it has
    // no compile_time_limit (docs/scaling.md). A forked child goes on with it.
    static Cache& shared();

    Cache(Cache&&) noexcept;
    Cache& operator=(Cache&&) noexcept;
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    ~Cache();

    Lookup find(const Key& key);
    // The same, counted neither as a lookup nor as a use. No server is asked for a derived entry.
    Lookup peek(const Key& key, EntryKind kind = EntryKind::result);
    Result<InsertReport> insert(const Key& key, Artifact artifact, const InsertOptions& options = {});
    Result<InsertReport> insert(const Request& request, Artifact artifact, const InsertOptions& options = {});
    // Counts as a use in every tier of this machine that has the entry, and neither reads it nor counts as a lookup.
    // For what is in use by other means, such as a kernel that stays loaded. Returns whether any of them had it.
    // (Servers keep no uses, and are not asked.)
    bool touch(const Key& key);
    // Removes it from every tier, or from those of this machine. Returns whether any of them had it.
    bool remove(const Key& key, Reach reach = Reach::everywhere);

    // Looks the entry up, and compiles it if it is missing. Threads and processes of this machine that ask for the same
    // key wait for one compile.
    template <Compiles F>
    Result<Lookup> get_or_compile(const Key& key, F&& compile, const GetOptions& options = {})
    {
        return get(key, {}, std::forward<F>(compile), options);
    }
    template <Compiles F>
    Result<Lookup> get_or_compile(const Request& request, F&& compile, const GetOptions& options = {})
    {
        return get(request.key(), request.encoding(), std::forward<F>(compile), options);
    }
    // The same without waiting. Compiles run on the cache's own workers, started when first needed, with signals
    // blocked. A future that is asked for inside a compile function is a deferred one: wait() and get() wait,
    // wait_for() does not.
    template <Compiles F>
    std::future<Result<Lookup>> get_or_compile_async(const Key& key, F&& compile, const GetOptions& options = {})
    {
        return compile_later(key, {}, detail::as_compile_function(std::forward<F>(compile)), options);
    }
    template <Compiles F>
    std::future<Result<Lookup>> get_or_compile_async(const Request& request, F&& compile,
                                                     const GetOptions& options = {})
    {
        return compile_later(request.key(), request.encoding(), detail::as_compile_function(std::forward<F>(compile)),
                             options);
    }
    // For what cannot be cached: looks nothing up and stores nothing. Counted as a miss, past the cache.
    template <Compiles F>
    Result<Lookup> compile_past_the_cache(F&& compile, const Metadata& metadata = {}, Timed timed = Timed::by_itself)
    {
        return compile_past(detail::as_compile_function(std::forward<F>(compile)), metadata, timed);
    }

    // For what is compiled where no compile function can be, before it is: an Error, counted, if this cache may not
    // compile.
    Status may_compile(const Metadata& metadata);

    // Runs `work` on one of the cache's workers. It is given an Error if the cache closes before its turn comes.
    void run_later(std::function<void(const Status&)> work);

    // The cache's tier in device memory: the one with that name, or the first. See hearth/vram.hpp.
    Vram vram(std::string_view tier = {});

    // Stores everything that is still on its way, and writes uses and statistics down.
    void flush();
    Stats stats(Scope scope = Scope::process);

    // Whether compiles may be raced against servers. If so, it is worth a copy to let a compile own its captures.
    bool races() const noexcept;
    // Whether anything is kept at all. If not, compilers need not find out what a result depends on.
    bool has_tiers() const noexcept;
    // Where entries are kept, as an absolute path: that of the first tier with a directory. Empty: none has one.
    std::string directory() const;
    // CacheOptions::compile_time_limit; 0: none. If there is one, it is worth a copy to let a compile own its captures.
    std::chrono::milliseconds compile_time_limit() const noexcept;
    // Launches after which a kernel's variants are measured (CacheOptions::variants_after); 0: never.
    std::uint32_t variants_after() const noexcept;
    // Whether output that holds a program's path may hold one without its directory (CacheOptions::stable_paths).
    bool stable_paths() const noexcept;
    // Where compilers record what they are asked for; null: nowhere. docs/recipes.md.
    const Recording* recording() const noexcept;

    // For Hearth itself: what a cache is made of.
    struct Parts;
    explicit Cache(std::unique_ptr<Parts> parts);
    Parts& parts() const noexcept { return m_parts ? *m_parts : no_parts(); }

private:
    static Parts& no_parts();

    // not_asked: the servers are raced against the compile.
    enum class Servers : std::uint8_t { asked, not_asked };

    template <class F>
    Result<Lookup> get(const Key& key, const Bytes& request, F&& compile, const GetOptions& options)
    {
        Servers servers = Servers::asked;
        Lookup found = look(key, options, servers);
        if (found && !found->failed())
            return found;
        return compile_missing(key, request, detail::as_compile_function(std::forward<F>(compile)), options,
                               std::move(found), servers);
    }
    Lookup look(const Key& key, const GetOptions& options, Servers& servers);
    Result<Lookup> compile_missing(const Key& key, const Bytes& request, CompileFunction compile,
                                   const GetOptions& options, Lookup found, Servers servers);
    std::future<Result<Lookup>> compile_later(const Key& key, const Bytes& request, CompileFunction compile,
                                              const GetOptions& options);
    Result<Lookup> compile_past(const CompileFunction& compile, const Metadata& metadata, Timed timed);

    std::unique_ptr<Parts> m_parts;
};

}  // namespace hearth
