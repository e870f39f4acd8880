#pragma once

// The whole public API in one include.

#include "hearth/artifact.hpp"
#include "hearth/bytes.hpp"
#include "hearth/cache.hpp"
#include "hearth/compiled.hpp"
#include "hearth/cuda.hpp"
#include "hearth/explain.hpp"
#include "hearth/key.hpp"
#include "hearth/lease.hpp"
#include "hearth/libraries.hpp"
#include "hearth/nvrtc.hpp"
#include "hearth/opencl.hpp"
#include "hearth/operator.hpp"
#include "hearth/options.hpp"
#include "hearth/policy.hpp"
#include "hearth/ptx.hpp"
#include "hearth/result.hpp"
#include "hearth/stats.hpp"
#include "hearth/tier.hpp"
#include "hearth/units.hpp"
