#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace hearth::bench {

enum class Effort : bool { quick, full };  // quick: a million-entry directory is left out

void bench_memory(Report& report);
void bench_disk(Report& report);
void bench_bundle(Report& report);
void bench_scale(Report& report, Effort effort);
void bench_flight(Report& report);
void bench_policy(Report& report);
void bench_nvrtc(Report& report);
void bench_recipes(Report& report);
void bench_run(Report& report);
void bench_command(Report& report);
void bench_kernel(Report& report);
void bench_variants(Report& report);
void bench_vram(Report& report);
void bench_remote(Report& report);

// What this program does when a bench starts it again as a fresh process: the first argument names the bench.
int run_as_child(const std::vector<std::string>& arguments);
int disk_child(const std::vector<std::string>& arguments);
int bundle_child(const std::vector<std::string>& arguments);
int flight_child(const std::vector<std::string>& arguments);
int nvrtc_child(const std::vector<std::string>& arguments);
int recipe_child(const std::vector<std::string>& arguments);
int run_child(const std::vector<std::string>& arguments);
int remote_child(const std::vector<std::string>& arguments);
int open_child(const std::vector<std::string>& arguments);

}  // namespace hearth::bench
