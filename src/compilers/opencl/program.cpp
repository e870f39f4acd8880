#include "compilers/opencl/program.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "compilers/opencl/kernel.hpp"
#include "compilers/opencl/request.hpp"
#include "hearth/lasting.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace hearth::opencl {

namespace {

constexpr const char* k_binary_section = "binary";
constexpr const char* k_launches_section = "launches";
constexpr std::string_view k_any_launch = "any";
// A program that is launched in ever new ways is not stored again without end.
constexpr std::size_t k_most_launches = 64;

std::atomic<std::uint64_t> g_rejected{0};

// Whether what PoCL compiles for one program is found by the next one of the same source.
bool driver_keeps_code()
{
    const char* setting = std::getenv("POCL_KERNEL_CACHE");
    return setting == nullptr || std::string_view(setting) != "0";
}

// Shared with the compile function, which may still run after we return: at a deadline, or if a server was quicker.
struct Job {
    Job(std::shared_ptr<const ContextState> its_context, Source its_source)
        : context(std::move(its_context)), source(std::move(its_source))
    {
    }

    Result<Artifact> run()
    {
        Result<Built> built = build_from_source(context, source);
        HEARTH_TRY(built);
        const std::lock_guard lock(mutex);
        program = std::move(built->program);
        return std::move(built->artifact);
    }

    // The program that run() built; none if the cache had it or another thread compiled it.
    NativeProgram take()
    {
        const std::lock_guard lock(mutex);
        return std::move(program);
    }

    const std::shared_ptr<const ContextState> context;
    const Source source;
    std::mutex mutex;
    NativeProgram program;  // guarded by mutex
};

}  // namespace

ProgramState::~ProgramState()
{
    if (context->is_lost())
        return;
    {
        const std::lock_guard lock(m_mutex);
        if (!m_grown || !watches_launches())
            return;
    }
    if (context->api->finish(context->queue) == CL_SUCCESS)
        static_cast<void>(store_again());
}

void ProgramState::watch(Cache& cache, Origin origin)
{
    m_cache = &lasting(cache);
    BinarySource from = BinarySource::program;
    if (freezes_binary(context->device))
        from = origin == Origin::source ? BinarySource::program_once : BinarySource::none;
    std::string_view lines = artifact->text(k_launches_section);
    if (lines == k_any_launch)
        from = BinarySource::none;
    m_source_of_binary = from;
    const std::scoped_lock lock(m_mutex, m_storing);
    m_binary = Bytes::copy_of(artifact->bytes(k_binary_section));
    while (!lines.empty())
        m_launches.emplace(base::take_until('\n', lines));
}

void ProgramState::handed_out(const std::string& kernel)
{
    const std::lock_guard lock(m_mutex);
    m_unlaunched.insert(kernel);
}

void ProgramState::dropped(const std::string& kernel)
{
    const std::lock_guard lock(m_mutex);
    if (const auto found = m_unlaunched.find(kernel); found != m_unlaunched.end())
        m_unlaunched.erase(found);
}

bool ProgramState::launched(const std::string& kernel, const std::string& kind)
{
    const std::lock_guard lock(m_mutex);
    m_unlaunched.erase(kernel);
    if (m_launches.size() < k_most_launches && m_launches.insert(kind).second)
        m_grown = true;
    // A binary that can be taken only once is taken when every kernel that was handed out has been launched.
    return m_grown && (m_unlaunched.empty() || m_source_of_binary != BinarySource::program_once);
}

Bytes ProgramState::take_binary()
{
    switch (m_source_of_binary.load()) {
    case BinarySource::none:
    case BinarySource::program:
        return program.binary();
    case BinarySource::program_once:
        m_source_of_binary = driver_keeps_code() ? BinarySource::new_program : BinarySource::none;
        return program.binary();
    case BinarySource::new_program:
        return binary_of_another(context, source);
    }
    return {};
}

Status ProgramState::store_again()
{
    if (m_cache == nullptr)
        return error(Code::invalid_argument, "{}",
                     artifact->failed() ? "A program that did not build has no binary to store."
                                        : fmt::format("This program is not stored: {}.", reason));
    HEARTH_TRY(ContextState::check());
    const std::lock_guard storing(m_storing);
    std::string launches;
    std::size_t count = 0;
    {
        // The list is read before the binary is taken: a launch in between is missing from it, and is stored next time.
        const std::lock_guard lock(m_mutex);
        m_grown = false;
        count = m_launches.size();
        for (const std::string& launch : m_launches)
            launches += launch + '\n';
    }
    const bool from_program = m_source_of_binary == BinarySource::program;
    Bytes binary = take_binary();
    if (binary.empty())
        return error(Code::io, "The driver gave no binary of the program.");
    // Only the first launch can tell: a later one may find its code in the binary already.
    if (from_program && count == 1 && binary == m_binary) {
        launches = k_any_launch;
        m_source_of_binary = BinarySource::none;
    }
    Artifact next = *artifact;  // with its origin: a binary that was fetched is not signed here
    std::erase_if(next.sections, [](const Section& section) {
        return section.name == k_binary_section || section.name == k_launches_section;
    });
    next.sections.insert(next.sections.begin(), {k_binary_section, binary});
    next.sections.push_back({k_launches_section, Bytes::copy_of(launches)});
    const Result<InsertReport> stored = m_cache->insert(request, std::move(next));
    HEARTH_TRY(stored);
    m_binary = std::move(binary);
    return {};
}

std::uint64_t rejected_binaries() noexcept
{
    return g_rejected.load(std::memory_order_relaxed);
}

Result<Program> build(Cache& cache, const Context& context, const Source& source, const BuildOptions& options)
{
    HEARTH_TRY(ContextState::check());
    HEARTH_TRY_SET(const compilers::Question question, question_of(context.device(), source));
    const auto job = std::make_shared<Job>(context.state(), source);
    const auto state = std::make_shared<ProgramState>(context.state(), source, question.request);
    auto origin = ProgramState::Origin::source;
    bool is_kept = true;
    for (bool may_be_refused = true;; may_be_refused = false) {
        // Which files a driver reads is not known, and what might read some goes past the cache: no conditions.
        HEARTH_TRY_SET(const compilers::Answer answer,
                       compilers::answer(cache, question,
                                         [job]() -> Result<compilers::Watched> {
                                             HEARTH_TRY_SET(Artifact made, job->run());
                                             return compilers::Watched{std::move(made), watch::Conditions{}};
                                         },
                                         {.deadline = options.deadline, .captures = Captures::owned}));
        const Lookup* const found = &answer.lookup;
        const bool hit = !found->compiled();
        state->artifact = found->share();
        state->tier = hit ? found->tier() : std::string_view{};
        state->program = job->take();
        if (state->outcome != Outcome::rebuilt) {
            state->outcome = hit ? Outcome::hit : found->waited() ? Outcome::waited : Outcome::compiled;
            state->reason = hit ? std::string_view{} : to_string(found->why());
        }
        if (state->artifact->failed() || state->program)
            break;
        Result<NativeProgram> loaded =
            load_binary(context.state(), state->artifact->bytes(k_binary_section), joined_options(source));
        if (loaded) {
            state->program = *std::move(loaded);
            origin = ProgramState::Origin::binary;
            break;
        }
        state->outcome = Outcome::rebuilt;
        state->reason = loaded.error().message;
        if (!may_be_refused) {
            // A server, or a tier that cannot be written, still has the refused binary.
            HEARTH_TRY_SET(const Lookup made,
                           cache.compile_past_the_cache([job] { return job->run(); }, {.label = question.label}));
            state->artifact = made.share();
            state->program = job->take();
            state->tier.clear();
            is_kept = false;
            break;
        }
        // relaxed: a count, which orders nothing.
        g_rejected.fetch_add(1, std::memory_order_relaxed);
        // What one machine's driver refuses may be good for the others.
        cache.remove(question.request, Reach::this_machine);
    }
    if (!question.why_past_the_cache.empty()) {
        state->outcome = Outcome::past_the_cache;
        state->reason = question.why_past_the_cache;
    } else if (!state->artifact->failed() && state->artifact->bytes(k_binary_section).empty()) {
        if (is_kept)
            cache.remove(question.request);
        state->outcome = Outcome::past_the_cache;
        state->reason = "the driver gives no binary of it";
    } else if (!state->artifact->failed() && is_kept) {
        state->watch(cache, origin);
    }
    return Program(state);
}

const Artifact& Program::artifact() const noexcept
{
    return *m_state->artifact;
}

void* Program::handle() const noexcept
{
    return m_state->program.id();
}

Outcome Program::outcome() const noexcept
{
    return m_state->outcome;
}

const std::string& Program::reason() const noexcept
{
    return m_state->reason;
}

const std::string& Program::tier() const noexcept
{
    return m_state->tier;
}

const Request& Program::request() const noexcept
{
    return m_state->request;
}

Status Program::store_again() const
{
    return m_state->store_again();
}

Result<Kernel> Program::kernel(const std::string& name) const
{
    Result<std::shared_ptr<const KernelState>> made = make_kernel(m_state, name);
    HEARTH_TRY(made);
    return Kernel(*std::move(made));
}

}  // namespace hearth::opencl
