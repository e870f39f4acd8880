#pragma once

#include "compilers/opencl/native_program.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace hearth::opencl {

// What is behind a Program: the driver's program, and the stored artifact.
//
// A driver may compile a kernel only when it is launched, and for the local size of that launch. The binary has that
// code only if it is taken afterwards. So the artifact lists the kinds of launches that its binary has seen (section
// "launches", one per line). After a launch of another kind the binary is taken and stored again. If a driver's binary
// is the same after a launch, it is not taken again: the list is then the one line k_any_launch.
class ProgramState {
public:
    ProgramState(std::shared_ptr<const ContextState> its_context, Source its_source, Request its_request)
        : context(std::move(its_context)), source(std::move(its_source)), request(std::move(its_request))
    {
    }
    ~ProgramState();
    ProgramState(const ProgramState&) = delete;
    ProgramState& operator=(const ProgramState&) = delete;

    const std::shared_ptr<const ContextState> context;
    const Source source;
    const Request request;
    // Set while it is built, and not changed afterwards.
    NativeProgram program;  // none if the build failed
    std::shared_ptr<const Artifact> artifact;
    Outcome outcome = Outcome::hit;
    std::string reason;
    std::string tier;

    // Called once it is built: from now on the binary is stored again when it has grown.
    enum class Origin : std::uint8_t { source, binary };
    void watch(Cache& cache, Origin origin);
    Status store_again();

    // Between these two calls a kernel is expected to be launched.
    void handed_out(const std::string& kernel);
    void dropped(const std::string& kernel);
    // Whether launches have to be reported at all.
    bool watches_launches() const { return m_source_of_binary.load(std::memory_order_relaxed) != BinarySource::none; }
    // Whether the binary should now be stored again.
    bool launched(const std::string& kernel, const std::string& kind);

private:
    // Where a binary with the code of the latest launches comes from.
    enum class BinarySource : std::uint8_t {
        none,          // nowhere, or it never changes
        program,       // from the program, any number of times
        program_once,  // from the program, once
        new_program,   // from another program of the same source, which shares the driver's own cache with this one
    };
    Bytes take_binary();

    Cache* m_cache = nullptr;                                          // null if nothing is stored
    std::atomic<BinarySource> m_source_of_binary{BinarySource::none};  // relaxed: a late view only costs work

    std::mutex m_mutex;
    std::set<std::string, std::less<>> m_launches;         // guarded by m_mutex
    std::multiset<std::string, std::less<>> m_unlaunched;  // kernels that were handed out; guarded by m_mutex
    bool m_grown = false;                                  // since it was stored; guarded by m_mutex

    std::mutex m_storing;  // one at a time, so that the binary stored last is the one taken last
    Bytes m_binary;        // as it is stored; guarded by m_storing
};

}  // namespace hearth::opencl
