#pragma once

#include "compilers/common/answer.hpp"
#include "compilers/ptx/nvjitlink.hpp"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace hearth::ptx {

// One link by nvJitLink, call by call, as a program makes it.
//
// Every call that changes something is a question of its own: its arguments, and what the calls before it were answered
// with. Its result holds all that the program can then ask for. So each answer is what the library gave at this point,
// also for a refused input, and a link that was done before never loads the library.
//
// When a call is not known, the library is first given the calls before it: the same bytes, and each must end as it was
// answered. A call that could not be repeated so, such as the name of a file that is refused, is not kept.
// Thread safety: as nvJitLink's own, one thread at a time.
class SteppedLink {
public:
    enum class Kind : std::uint8_t { create, data, file, complete };
    struct Call {
        Kind kind = Kind::create;
        std::vector<std::string> options{};
        int type = 0;
        std::optional<std::string> name{};  // a path, of a file
        // None: no data was given. It is followed by a zero: nvJitLink reads PTX up to a zero, whatever size it is
        // given. Of a file: what it held when it was added.
        std::optional<std::string> data{};
    };

    // `library`: the path of a libnvJitLink.
    explicit SteppedLink(std::string library) : m_library(std::move(library)) {}
    ~SteppedLink();
    SteppedLink(const SteppedLink&) = delete;
    SteppedLink& operator=(const SteppedLink&) = delete;

    // The next call. Then exactly one of:
    void add(Call call);
    // - its answer through the cache, unless the link goes past it. An Error: the library has to be asked;
    Result<compilers::Answer> answer(Cache& cache);
    // - what the library itself answers. From then on the link goes past the cache.
    Artifact ask_the_library(const std::string& why);

    // Empty: it does not.
    const std::string& why_past_the_cache() const { return m_why_past_the_cache; }
    const std::deque<Call>& calls() const { return m_calls; }

    // What a call's artifact says of the output in this section of k_link_sections: nvJitLink's status.
    static int status_of(const Artifact& artifact, const char* section);
    // Whether there is a handle to ask.
    static bool has_handle(const Artifact& artifact);
    // The artifact of a call that fails with this error log.
    static Artifact failure(const std::string& error_log);

private:
    Request request_of(const Call& call, const std::string& build, const std::vector<std::string>& environment) const;
    // An Error: the library cannot be loaded, or does not answer a call as it was answered.
    Result<Artifact> catch_up();
    int apply(const Call& call, bool again);
    Artifact seen(int status) const;
    Status check_file(const Artifact& made, const watch::Conditions& conditions, const watch::Places& places) const;

    std::string m_library;
    std::optional<NvJitLink> m_linker;
    NvJitLink::Handle m_handle = nullptr;
    std::deque<Call> m_calls;             // stay where they are: nvJitLink keeps pointers to names and data
    std::vector<int> m_statuses;          // of the calls that have been answered
    std::optional<Artifact> m_last_seen;  // of the last call that the library had
    std::size_t m_applied = 0;            // how many calls the library has had
    Key m_after;                          // stands for the calls before, and what they were answered with
    std::string m_why_past_the_cache;
};

}  // namespace hearth::ptx
