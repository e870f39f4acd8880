// A program that is linked with libhearth: library_door SOURCE OUT TIMES. Prints a line for each compile: how it ended
// and the tier that had it. With DOOR_IS_READY it says first that its start-up has ended.
#include <hearth/hearth.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

int main(int count, char** words)
{
    if (count != 4)
        return 2;
    std::ifstream file(words[1]);
    hearth::nvrtc::Program program;
    program.source.assign(std::istreambuf_iterator<char>(file), {});
    program.name = "k.cu";
    program.options = {"--gpu-architecture=compute_80"};
    hearth::Result<hearth::Cache> cache = hearth::Cache::open();
    if (!cache)
        return 3;
    if (std::getenv("DOOR_IS_READY") != nullptr)
        hearth::ready();
    for (int i = 0; i < std::atoi(words[3]); ++i) {
        const hearth::Result<hearth::nvrtc::Compiled> compiled = hearth::nvrtc::compile(*cache, program);
        if (!compiled) {
            std::cerr << compiled.error().message << '\n';
            return compiled.error().code == hearth::Code::not_found ? 5 : 4;
        }
        std::ofstream(words[2]) << compiled->ptx();
        std::cout << (compiled->outcome() == hearth::Outcome::hit ? "hit " : "compiled ") << compiled->tier() << '\n';
    }
    return 0;
}
