#pragma once

#include "hearth/cache.hpp"
#include "process_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hearth::proxy {

// nvJitLinkResult, as far as it is given here.
enum LinkStatus : int { k_link_success = 0, k_link_internal = 6, k_link_null_input = 10 };

// What a program's nvJitLinkHandle points to: the calls so far, and what can be seen after the last of them.
//
// Every call that changes something is a step with a key of its own, made of the step before it and what the call was
// given; its entry holds all that the program can then ask for. So each answer is what the real library gave at this
// very point, a refused input's too, and a link that was made before never loads it.
// Thread safety: as nvJitLink's own, one thread at a time.
class Link {
public:
    Link() = default;
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    // The link behind a handle; null where it is none of ours.
    static Link* of(void* handle);

    // Each answers the real library's status. Of create(): is_there() says whether there is a handle then.
    int create(std::vector<std::string> options);
    int add_data(int type, const void* data, std::size_t size, const char* name);
    int add_file(int type, const char* path);
    int complete();
    bool is_there() const;

    // What can be seen: a section's status and bytes.
    int size_of(const char* section, std::size_t* size) const;
    int get(const char* section, void* out) const;

private:
    static constexpr std::uint64_t k_alive = 0x6865'6172'7468'6a6c;

    enum class Kind : std::uint8_t { create, data, file, complete };
    struct Call {
        Kind kind = Kind::create;
        std::vector<std::string> options{};
        int type = 0;
        Bytes data{};          // with a zero behind it: nvJitLink reads PTX up to one, whatever its size is said to be
        std::size_t size = 0;  // without that
        std::string name{};
        bool has_name = true;
        bool has_data = true;

        void hold(ByteView bytes);
    };

    int step(Call call);
    // Makes the calls in the real library that have not been made there, and answers the last one's status.
    int catch_up();
    int refuse(const std::string& why);
    void count(const Event& event);
    Request request_of(const Call& call, const std::string& build) const;
    Result<Artifact> make_step();
    int apply(const Call& call);
    Artifact seen(int status) const;

    std::uint64_t m_alive = k_alive;
    std::vector<Call> m_calls;
    std::size_t m_applied = 0;  // of the calls, in the real library
    Key m_key;                  // of the last step
    std::shared_ptr<const Artifact> m_seen;
    void* m_real = nullptr;
    int m_real_status = k_link_internal;  // of the last call that was made there
    bool m_past_cache = false;
    bool m_is_refused = false;  // and noted: compiling is forbidden
    Event m_event;              // all steps since the last that was noted, as one compile
};

// As nvJitLinkVersion answers, remembered in the cache.
int link_version(unsigned* major, unsigned* minor);

}  // namespace hearth::proxy
