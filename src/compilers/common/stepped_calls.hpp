#pragma once

#include "compilers/common/answer.hpp"
#include "compilers/common/loaded_compiler.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::compilers {

// A compiler library that is used call by call, by a handle.
struct SteppedLibrary {
    const char* name;  // in sentences: "nvJitLink"
    const char* word;  // in requests, metadata and logs: "nvjitlink"
    // Its statuses; success is 0.
    int failure;     // of what cannot be done at all
    int null_input;  // of a pointer that is missing
};

// Something that a program can ask such a library for, by two functions, and the section of an artifact that keeps it.
struct SteppedOutput {
    using Size = int(void*, std::size_t*);
    using Get = int(void*, void*);
    struct Fetched {
        int status = 0;
        Bytes bytes{};
    };

    const char* section = nullptr;
    Size* size = nullptr;  // null: this version has none
    Get* get = nullptr;

    // `absent`: the status if this version has none.
    Fetched fetch(void* handle, int absent) const;
};

// The driver, which such libraries may ask for a cache of their own, is none of their inputs.
inline constexpr std::array<std::string_view, 1> k_libraries_of_linkers{"libcuda."};

// The calls of one handle, as a program makes them.
//
// Every call whose result is not known beforehand is a question of its own: its arguments, and what the calls before it
// were answered with. Its result holds all that the program can then ask for. So each answer is what the library gave
// at this point, also for a refused input, and calls that were made before never load the library.
//
// When a call is not known, the library is first given the calls before it: the same bytes, and each must end as it was
// answered. A call that could not be repeated so, such as the name of a file that is refused, is not kept.
// Thread safety: as the library's own, one thread at a time.
class SteppedCalls {
public:
    enum class Kind : std::uint8_t { create, data, file, complete, lazy_data, verify };
    struct Call {
        Kind kind = Kind::create;
        std::vector<std::string> options{};
        int type = 0;                       // a number that the library is given
        std::optional<std::string> name{};  // a path, of a file
        // None: no data was given. It is followed by a zero: nvJitLink reads PTX up to a zero, whatever size it is
        // given. Of a file: what it held when it was added.
        std::optional<std::string> data{};
    };

    // `path`: of the library's file. `known`: lasts as long as the process.
    SteppedCalls(std::string path, const SteppedLibrary& known) : m_path(std::move(path)), m_known(known) {}
    virtual ~SteppedCalls() = default;
    SteppedCalls(const SteppedCalls&) = delete;
    SteppedCalls& operator=(const SteppedCalls&) = delete;

    // The next call. Then exactly one of:
    void add(Call call);
    // - its answer through the cache, unless the calls go past it. An Error: the library has to be asked;
    Result<Answer> answer(Cache& cache);
    // - what the library itself answers. From then on the calls go past the cache;
    Artifact ask_the_library(const std::string& why);
    // - nothing, if every such call ends with this status, and changes nothing that can be asked for.
    void assume(int status);

    // Empty: they do not.
    const std::string& why_past_the_cache() const { return m_why_past_the_cache; }
    const std::deque<Call>& calls() const { return m_calls; }
    // Of the first input that has one; empty: none has.
    std::string name() const;
    const SteppedLibrary& known() const { return m_known; }

    // What a call's artifact says of the output in this section: the library's status.
    int status_of(const Artifact& artifact, const char* section) const;
    // Whether there is a handle to ask.
    static bool has_handle(const Artifact& artifact);
    // The artifact of a call that fails with this log.
    virtual Artifact failure(const std::string& log) const = 0;

protected:
    // Loads the library, once.
    virtual Result<LoadedCompiler*> load() = 0;
    // The library's outputs, once it is loaded.
    virtual std::span<const SteppedOutput> outputs() const = 0;
    // Makes the call, and returns its status. `again`: it was answered before, by the cache.
    virtual int apply(const Call& call, bool again) = 0;
    // Whether the same calls always end like this.
    virtual bool is_deterministic(int status) const = 0;
    // Why no cache can answer this call and those after it; empty: one can.
    virtual std::string why_not_cached(const Call& /*call*/) const { return {}; }
    // An Error: the result of the last call must not be kept.
    virtual Status check(const Artifact& /*made*/, const watch::Conditions& /*conditions*/,
                         const watch::Places& /*places*/) const
    {
        return {};
    }

    const std::string& path() const { return m_path; }
    static std::string status_section(const char* section);
    void* m_handle = nullptr;  // the library's; whoever creates it destroys it

private:
    Request request_of(const Call& call, const std::string& build, const std::vector<std::string>& environment) const;
    // An Error: the library cannot be loaded, or does not answer a call as it was answered.
    Result<Artifact> catch_up();
    Artifact seen(int status) const;

    std::string m_path;
    const SteppedLibrary& m_known;
    std::deque<Call> m_calls;             // stay where they are: nvJitLink keeps pointers to names and data
    std::vector<int> m_statuses;          // of the calls that have been answered
    std::optional<Artifact> m_last_seen;  // of the last call that the library had
    std::size_t m_applied = 0;            // how many calls the library has had
    Key m_after;                          // stands for the calls before, and what they were answered with
    std::string m_why_past_the_cache;
};

}  // namespace hearth::compilers
