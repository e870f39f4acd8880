// What the snippets of documents take for given: a program that has kernels, a compiler of its own, and a cache.
#pragma once

#include <hearth/hearth.hpp>

#include <string>
#include <string_view>
#include <vector>

extern hearth::Cache cache;
extern hearth::Key key;
extern hearth::cuda::Kernel kernel;
extern std::string text, source, compiler_version, ir, ptx;
extern std::vector<std::string> options;
extern unsigned blocks;
extern hearth::cuda::Stream stream;
extern int n;
extern float a;
extern float *x, *y;

std::string compile(const std::string& source);
void use(std::string_view ir);
