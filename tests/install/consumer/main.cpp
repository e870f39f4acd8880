#include <hearth/hearth.hpp>

#include <cstdio>

int main(int, char** argv)
{
    auto cache = hearth::Cache::open({.directory = argv[1]}).value();
    auto key = hearth::Key::of("consumer", "compiler 1.0", "source");
    auto found = cache.get_or_compile(key, [] { return hearth::Artifact("compiled"); }).value();
    std::printf("%s, from %s\n", std::string(found->text()).c_str(),
                found.compiled() ? "a compile" : std::string(found.tier()).c_str());
}
