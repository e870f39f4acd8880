// Runs a fuzzer without libFuzzer: over its corpus, then over seeded mutations of it.
//
//   hearth_fuzz NAME FOLDER [FILE...]     the inputs in the folder and these, then mutations of them
//   hearth_fuzz NAME FILE...              these inputs, as they are
//
// The inputs are tried in a child process that notes in shared memory which one it is at, so that after a crash, a
// sanitizer's exit or a hang its parent can make that input again, save it and say how to replay it.

#include "fuzz/fuzz.hpp"
#include "support/scale.hpp"
#include "support/scratch_directory.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;
using hearth::fuzz::Fuzzer;

// SplitMix64: as random as damage needs to be, and free to start anew for every input.
class Random {
public:
    explicit Random(std::uint64_t seed) : m_state(seed) {}

    std::uint64_t operator()()
    {
        m_state += 0x9E3779B97F4A7C15U;
        std::uint64_t bits = m_state;
        bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
        bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
        return bits ^ (bits >> 31U);
    }

private:
    std::uint64_t m_state;
};

// Makes inputs from a corpus: those of the corpus as they are, then damaged ones. Input number n of a seed is always
// the same, so that a failure can be made again from the two numbers.
class Mutator {
public:
    Mutator(std::vector<std::string> corpus, std::uint64_t seed) : m_corpus(std::move(corpus)), m_seed(seed) {}

    std::uint64_t corpus_size() const { return m_corpus.size(); }
    std::string input(std::uint64_t number) const;

private:
    const std::string& any_of_corpus(Random& random) const { return m_corpus[random() % m_corpus.size()]; }
    void mutate(std::string& bytes, Random& random) const;

    static constexpr std::size_t k_most_bytes = 1 << 16;

    std::vector<std::string> m_corpus;
    std::uint64_t m_seed;
};

std::size_t place_in(const std::string& bytes, Random& random)
{
    return bytes.empty() ? 0 : random() % bytes.size();
}

// Few bytes more often than many.
std::size_t some_length(std::size_t most, Random& random)
{
    const std::size_t bound = std::size_t{1} << (random() % 8);
    return most == 0 ? 0 : 1 + random() % std::min(most, bound);
}

// A number at which lengths and counts go wrong, a power of two or beside one, in a width that they have.
std::string interesting_number(Random& random)
{
    const std::uint64_t power = std::uint64_t{1} << (random() % 64);
    const std::uint64_t number = (random() % 8 == 0 ? 0 : power) + random() % 3 - 1;
    std::string bytes(std::size_t{1} << (random() % 4), '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(number >> (8 * i));
    return bytes;
}

void Mutator::mutate(std::string& bytes, Random& random) const
{
    const std::size_t at = place_in(bytes, random);
    const std::size_t rest = bytes.size() - at;
    switch (random() % 10) {
    case 0:
        if (!bytes.empty())
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
        break;
    case 1:
        if (!bytes.empty())
            bytes[at] = static_cast<char>(random());
        break;
    case 2:
        if (!bytes.empty())
            bytes[at] = static_cast<char>(bytes[at] + static_cast<int>(random() % 9) - 4);
        break;
    case 3: {
        const std::string number = interesting_number(random);
        bytes.replace(at, std::min(rest, number.size()), number);
        break;
    }
    case 4:
        bytes.insert(at, some_length(200, random), static_cast<char>(random()));
        break;
    case 5:
        bytes.erase(at, some_length(rest, random));
        break;
    case 6:
        bytes.insert(at, bytes.substr(place_in(bytes, random), some_length(bytes.size(), random)));
        break;
    case 7: {
        const std::string& other = any_of_corpus(random);
        bytes.insert(at, other.substr(place_in(other, random), some_length(other.size(), random)));
        break;
    }
    case 8: {
        const std::string& other = any_of_corpus(random);
        bytes = bytes.substr(0, at) + other.substr(std::min(at, other.size()));
        break;
    }
    default:
        bytes.resize(at);
        break;
    }
    bytes.resize(std::min(bytes.size(), k_most_bytes));
}

std::string Mutator::input(std::uint64_t number) const
{
    if (number < m_corpus.size())
        return m_corpus[number];
    Random random(Random(m_seed)() ^ number);
    std::string bytes = any_of_corpus(random);
    for (std::uint64_t left = 1 + random() % 5; left > 0; --left)
        mutate(bytes, random);
    return bytes;
}

constexpr unsigned k_hang_seconds = 60;  // for a thousand inputs, which take a fraction of a second

// A crash is for AddressSanitizer to see. Without it, a few show that the same holds of optimised code.
std::uint64_t mutations_of(const Fuzzer& fuzzer)
{
#ifdef HEARTH_HAS_ASAN
    return hearth::test::scaled(fuzzer.mutations);
#else
    return hearth::test::scaled(fuzzer.mutations / 30);
#endif
}

std::vector<std::string> read_inputs(const std::vector<fs::path>& paths)
{
    std::vector<fs::path> files;
    for (const fs::path& path : paths) {
        if (fs::is_directory(path))
            for (const fs::directory_entry& item : fs::directory_iterator(path))
                files.push_back(item.path());
        else
            files.push_back(path);
    }
    std::sort(files.begin(), files.end());  // so that an input's number does not depend on the file system
    std::vector<std::string> inputs;
    for (const fs::path& file : files)
        inputs.push_back(hearth::test::read_file(file));
    return inputs;
}

void try_inputs(const Fuzzer& fuzzer, const Mutator& mutator, std::uint64_t count, std::atomic<std::uint64_t>& at)
{
    for (std::uint64_t number = 0; number < count; ++number) {
        at.store(number, std::memory_order_relaxed);
        if (number % 1024 == 0)
            ::alarm(k_hang_seconds);
        const std::string input = mutator.input(number);
        // An allocation of just this size, so that a sanitizer sees a read one byte beyond it.
        const std::unique_ptr<char[]> exact(new char[input.size()]);
        std::copy(input.begin(), input.end(), exact.get());
        fuzzer.try_input({exact.get(), input.size()});
    }
}

std::string save(const std::string& input, const Fuzzer& fuzzer, std::uint64_t number)
{
    const std::string path = fs::absolute(std::string(fuzzer.name) + "-failure-" + std::to_string(number)).string();
    hearth::test::write_file(path, input);
    return path;
}

int run(int count, char** words)
{
    const Fuzzer* const fuzzer = count > 1 ? hearth::fuzz::fuzzer_named(words[1]) : nullptr;
    if (fuzzer == nullptr || count < 3) {
        std::cerr << "usage: " << words[0] << " NAME FOLDER|FILE...\nNAME is one of:";
        for (const Fuzzer& each : hearth::fuzz::fuzzers())
            std::cerr << ' ' << each.name;
        std::cerr << '\n';
        return 2;
    }
    const Mutator mutator(read_inputs({words + 2, words + count}), hearth::test::seed());
    const std::uint64_t mutations = fs::is_directory(words[2]) ? mutations_of(*fuzzer) : 0;
    if (mutator.corpus_size() == 0) {
        std::cerr << "There is no input to start from.\n";
        return 2;
    }

    void* const shared =
        ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        throw std::bad_alloc();
    auto& at = *new (shared) std::atomic<std::uint64_t>(0);
    const pid_t child = ::fork();
    if (child == 0) {
        try_inputs(*fuzzer, mutator, mutator.corpus_size() + mutations, at);
        std::exit(0);  // not _exit: a leak checker looks when a program ends
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child)
        throw std::runtime_error("cannot run a child process");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        std::cout << mutator.corpus_size() << " inputs and " << mutations << " mutations of them: nothing broke\n";
        return 0;
    }
    const std::string input = mutator.input(at);
    const std::string path = save(input, *fuzzer, at);
    std::cerr << "Input " << at << " (" << input.size() << " bytes) "
              << (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hangs" : "breaks")
              << " the decoder.\nReplay it with: " << words[0] << " " << fuzzer->name << " " << path
              << "\nOnce fixed, keep it: copy it into the corpus.\n";
    return 1;
}

}  // namespace

int main(int count, char** words)
{
    int code = 2;
    try {
        code = run(count, words);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
    }
    std::cout.flush();
    ::_exit(code);  // the child has looked for leaks, which takes seconds on some machines
}
