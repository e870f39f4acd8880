#include "remote/hedge.hpp"

#include "base/error.hpp"

#include <condition_variable>
#include <mutex>

namespace hearth::remotes {

namespace {

// Where both requests put their answers; it lives until the slower one is done.
struct Answers {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Hedge::Answer> best;
    int asked = 1;
    int answered = 0;

    bool decided() const { return best && (best->ok() || answered == asked); }
};

// A request that throws has failed: whoever waits for it is told, also if there is no memory for the sentence.
Hedge::Answer answer_to(const Hedge::Ask& ask, base::Workers::Call call) noexcept
try {
    if (call != base::Workers::Call::run)
        return error(Code::unavailable, "The remote is being closed.");
    try {
        return ask();
    } catch (...) {
        return error(Code::unavailable, "The request threw: {}", what_was_thrown());
    }
} catch (...) {
    return Error{Code::unavailable, {}, {}};
}

}  // namespace

Hedge::Answer Hedge::first_of_two(const Ask& ask, std::chrono::milliseconds after)
{
    const auto answers = std::make_shared<Answers>();
    const auto send = [&] {
        m_threads->submit([answers, ask](base::Workers::Call call) {
            Answer answer = answer_to(ask, call);
            const std::lock_guard lock(answers->mutex);
            ++answers->answered;
            if (!answers->best || answer.ok())
                answers->best = std::move(answer);
            answers->changed.notify_all();
        });
    };
    const auto decided = [&] { return answers->decided(); };
    send();
    std::unique_lock lock(answers->mutex);
    if (!answers->changed.wait_for(lock, after, decided)) {
        answers->asked = 2;
        lock.unlock();
        send();
        lock.lock();
        answers->changed.wait(lock, decided);
    }
    return std::move(*answers->best);
}

void Hedge::after_fork() noexcept
{
    // Not destroyed: that would wait for threads that this process does not have.
    static_cast<void>(m_threads.release());
    m_threads = std::make_unique<base::Workers>(k_most_threads);
}

}  // namespace hearth::remotes
