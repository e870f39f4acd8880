// Runs a fuzzer without libFuzzer: over its corpus, then over seeded mutations of it.
//
//   hearth_fuzz NAME FOLDER       the inputs in the folder, then mutations of them
//   hearth_fuzz NAME FILE...      these inputs, as they are
//
// The inputs are tried in a child process that notes in shared memory which one it is at, so that after a crash, a
// sanitizer's exit or a hang its parent can make that input again, save it and say how to replay it.

#include "fuzz/fuzz.hpp"
#include "fuzz/mutate.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
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
using hearth::fuzz::Mutator;

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
    for (const fs::path& file : files) {
        std::ifstream in(file, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        if (!in)
            throw std::runtime_error("cannot read " + file.string());
    }
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
    std::ofstream(path, std::ios::binary) << input;
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
