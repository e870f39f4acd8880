// A process of its own with a cache on DIR, told what to do line by line and answering each with one line:
//   make KEY      get_or_compile; its function says "making", waits for a line and returns it:
//                                                                   got TIER TEXT | error CODE
//   find KEY                                                                               hit TIER TEXT | miss REASON
//   find_many KEY TIMES                                                                    hits COUNT
//   put KEY TEXT                                                                           stored
//   flush | reset                                                                          done
//   stats         of the directory                                                         HITS MISSES STORES MAKES
//
// cache_worker DIR FLIGHT_WAIT_MS

#include "hearth/admin.hpp"
#include "hearth/cache.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

namespace {

hearth::Key key_of(const std::string& name)
{
    return hearth::Key::of("worker", name);
}

// Whoever speaks to us is gone: so are we.
std::string next_line()
{
    std::string line;
    if (!std::getline(std::cin, line))
        std::_Exit(0);
    return line;
}

void say(const std::string& line)
{
    std::cout << line << std::endl;
}

std::string made(hearth::Cache& cache, const std::string& name)
{
    const hearth::Result<hearth::Lookup> got = cache.get_or_compile(key_of(name), [] {
        say("making");
        return next_line();
    });
    if (!got)
        return "error " + std::to_string(static_cast<int>(got.error().code));
    return "got " + (got->compiled() ? "compiled" : std::string(got->tier())) + " " + std::string((*got)->text());
}

std::string found(hearth::Cache& cache, const std::string& name)
{
    const hearth::Lookup found = cache.find(key_of(name));
    if (!found)
        return "miss " + std::string(to_string(found.why()));
    return "hit " + std::string(found.tier()) + " " + std::string(found->text());
}

std::string found_often(hearth::Cache& cache, const std::string& name, int times)
{
    int hits = 0;
    for (int i = 0; i < times; ++i)
        hits += cache.find(key_of(name)).hit() ? 1 : 0;
    return "hits " + std::to_string(hits);
}

std::string answer(hearth::Cache& cache, const std::string& line)
{
    std::istringstream words(line);
    std::string command;
    std::string name;
    words >> command >> name;
    if (command == "make")
        return made(cache, name);
    if (command == "find")
        return found(cache, name);
    if (command == "find_many") {
        int times = 0;
        words >> times;
        return found_often(cache, name, times);
    }
    if (command == "put") {
        std::string text;
        words >> text;
        return cache.insert(key_of(name), hearth::Artifact(text)).ok() ? "stored" : "refused";
    }
    if (command == "flush" || command == "reset") {
        command == "flush" ? cache.flush() : hearth::admin::reset_stats(cache);
        return "done";
    }
    if (command == "stats") {
        const hearth::Stats stats = cache.stats(hearth::Scope::directory);
        std::ostringstream text;
        text << stats.hits << ' ' << stats.misses_in_all() << ' ' << stats.stores << ' ' << stats.compiles;
        return text.str();
    }
    return "unknown command";
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 3)
        return 2;
    {
        hearth::CacheOptions options;
        options.directory = argv[1];
        options.flight_wait = std::chrono::milliseconds(std::atoll(argv[2]));
        hearth::Cache cache = hearth::Cache::open(options).value();
        std::string line;
        while (std::getline(std::cin, line))
            say(answer(cache, line));
    }
    // Without what a sanitizer does at a process's end: a search for leaks takes seconds, and the tests' own process
    // has one.
    std::_Exit(0);
}
