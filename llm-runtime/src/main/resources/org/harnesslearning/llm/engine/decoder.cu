// Kernels of one decoder, compiled by NVRTC for its shape:
//   TYPE      number type of weights, activations and cache: 0 float, 1 half, 2 bfloat16
//   HEADS, KV_HEADS, HEAD   query heads, key and value heads, width of a head (a power of two, 8 to 256)
//   TOP       candidates a row that leave the device (64)
//   EPSILON   of the RMS norms
// All arithmetic is in float.

typedef unsigned int u32;
typedef unsigned long long u64;

#if TYPE == 0
typedef float T;
__device__ __forceinline__ float wide(T x) { return x; }
__device__ __forceinline__ T narrow(float x) { return x; }
#else
typedef unsigned short T;
__device__ __forceinline__ float wide(T x) {
#if TYPE == 1
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
#else
    return __uint_as_float((u32)x << 16);
#endif
}
__device__ __forceinline__ T narrow(float x) {
    T y;
#if TYPE == 1
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
#else
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
#endif
    return y;
}
#endif

#define MINUS_INFINITY __int_as_float(0xff800000)
#define FULL 0xffffffffu

// Eight neighbouring values as they lie in memory, 16-byte aligned.
struct Eight {
#if TYPE == 0
    uint4 a, b;
#else
    uint4 a;
#endif
};

__device__ __forceinline__ Eight load8(const T* p) {
    Eight e;
    e.a = *(const uint4*)p;
#if TYPE == 0
    e.b = *(const uint4*)(p + 4);
#endif
    return e;
}

// The same for what is read once: it does not displace anything from the first cache.
__device__ __forceinline__ uint4 stream16(const void* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

__device__ __forceinline__ Eight stream8(const T* p) {
    Eight e;
    e.a = stream16(p);
#if TYPE == 0
    e.b = stream16(p + 4);
#endif
    return e;
}

__device__ __forceinline__ void pair(u32 v, float& x, float& y) {
    x = wide((unsigned short)(v & 0xffff));
    y = wide((unsigned short)(v >> 16));
}

__device__ __forceinline__ void widen8(const Eight& e, float* out) {
#if TYPE == 0
    out[0] = __uint_as_float(e.a.x); out[1] = __uint_as_float(e.a.y);
    out[2] = __uint_as_float(e.a.z); out[3] = __uint_as_float(e.a.w);
    out[4] = __uint_as_float(e.b.x); out[5] = __uint_as_float(e.b.y);
    out[6] = __uint_as_float(e.b.z); out[7] = __uint_as_float(e.b.w);
#else
    pair(e.a.x, out[0], out[1]);
    pair(e.a.y, out[2], out[3]);
    pair(e.a.z, out[4], out[5]);
    pair(e.a.w, out[6], out[7]);
#endif
}

__device__ __forceinline__ float warpSum(float x) {
    for (int o = 16; o > 0; o >>= 1) x += __shfl_xor_sync(FULL, x, o);
    return x;
}

__device__ __forceinline__ float warpMax(float x) {
    for (int o = 16; o > 0; o >>= 1) x = fmaxf(x, __shfl_xor_sync(FULL, x, o));
    return x;
}

// ---------------------------------------------------------------------------------------------------------------
// Attention over the cache.

#define GROUP (HEADS / KV_HEADS)
#define LANES (HEAD / 8)   // lanes of a warp that share one cached cell
#define CELLS (32 / LANES) // cached cells that a warp reads at once
#define WARPS 4
#define DEPTH 4            // such reads in flight
#define STEP (CELLS * DEPTH)
#define HALF (HEAD / 2)
#define MAX_SPLITS 32

// One warp: a head with its norm and rotary embedding, from memory to shared memory.
__device__ void prepareHead(const T* source, const T* norm, const T* cosines, const T* sines, float* out) {
    const int lane = threadIdx.x & 31;
    float squares = 0;
    for (int d = lane; d < HEAD; d += 32) {
        float x = wide(source[d]);
        out[d] = x;
        squares += x * x;
    }
    if (norm) {
        float scale = rsqrtf(warpSum(squares) / HEAD + EPSILON);
        __syncwarp();
        for (int d = lane; d < HEAD; d += 32) out[d] = out[d] * scale * wide(norm[d]);
    }
    __syncwarp();
    for (int d = lane; d < HALF; d += 32) {
        float a = out[d], b = out[d + HALF], c = wide(cosines[d]), s = wide(sines[d]);
        out[d] = a * c - b * s;
        out[d + HALF] = b * c + a * s;
    }
    __syncwarp();
}

// Writes the key and value of one token and one head into the cache.
__device__ void appendHead(
    const T* key, const T* value, T* keys, T* values, long cell, int position, const T* cosines, const T* sines,
    const T* norm, float* scratch) {
    const int lane = threadIdx.x & 31;
    prepareHead(key, norm, cosines + (long)position * HALF, sines + (long)position * HALF, scratch);
    for (int d = lane; d < HEAD; d += 32) {
        keys[cell * HEAD + d] = narrow(scratch[d]);
        values[cell * HEAD + d] = value[d];
    }
}

// Tokens of the query are queryStride apart, those of key and value stride.

// grid (kv heads, tokens), 32 threads: appends the keys and values of several tokens of a row.
extern "C" __global__ void append(
    const T* key, const T* value, int stride, T* keys, T* values, const int* last, const T* cosines, const T* sines, const T* keyNorm,
    int tokens, int capacity) {
    __shared__ float scratch[HEAD];
    const int head = blockIdx.x, token = blockIdx.y, row = token / tokens;
    if (last[row] < 0) return;
    const int position = last[row] - (tokens - 1) + token % tokens;
    const long cell = ((long)row * KV_HEADS + head) * capacity + position;
    const long at = (long)token * stride + head * HEAD;
    appendHead(key + at, value + at, keys, values, cell, position, cosines, sines, keyNorm, scratch);
}

// grid (splits, kv heads, tokens), 128 threads. Each block attends with all query heads of one kv head to a part of
// the cells; the last block to end combines the parts. With one token a row it also appends.
extern "C" __global__ void __launch_bounds__(WARPS * 32) attend(
    T* out, const T* query, const T* key, const T* value, int queryStride, int stride, T* keys, T* values,
    const int* last, const T* cosines, const T* sines, const T* queryNorm, const T* keyNorm, float* partials,
    u32* arrived, int tokens, int capacity, float scale) {
    __shared__ __align__(16) float queries[GROUP][HEAD];
    __shared__ float sums[WARPS][GROUP][HEAD];
    __shared__ float maxima[WARPS][GROUP];
    __shared__ float weights[WARPS][GROUP];
    __shared__ float newKey[HEAD];
    __shared__ float factors[GROUP * MAX_SPLITS];
    __shared__ float shares[GROUP * MAX_SPLITS];
    __shared__ int isLast;
    const int split = blockIdx.x, splits = gridDim.x, head = blockIdx.y, token = blockIdx.z;
    const int row = token / tokens, warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    T* result = out + (long)token * HEADS * HEAD + head * GROUP * HEAD;
    if (last[row] < 0) { // a row that only fills up the batch
        if (split == 0) {
            for (int i = threadIdx.x; i < GROUP * HEAD; i += WARPS * 32) result[i] = narrow(0.f);
        }
        return;
    }
    const int position = last[row] - (tokens - 1) + token % tokens, length = position + 1;
    const int share = (length + splits - 1) / splits;
    const int begin = split * share, end = min(length, begin + share);
    const long base = ((long)row * KV_HEADS + head) * capacity;
    query += (long)token * queryStride;
    const long at = (long)token * stride + head * HEAD;
    for (int g = warp; g < GROUP; g += WARPS) {
        prepareHead(
            query + (head * GROUP + g) * HEAD, queryNorm, cosines + (long)position * HALF, sines + (long)position * HALF,
            queries[g]);
    }
    if (tokens == 1 && begin <= position && position < end && warp == WARPS - 1) {
        appendHead(key + at, value + at, keys, values, base + position, position, cosines, sines, keyNorm, newKey);
    }
    __syncthreads();

    const int sub = lane % LANES, which = lane / LANES;
    float q[GROUP][8], sum[GROUP][8], maximum[GROUP], weight[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            q[g][j] = queries[g][sub * 8 + j] * scale;
            sum[g][j] = 0;
        }
        maximum[g] = MINUS_INFINITY;
        weight[g] = 0;
    }
    for (int first = begin + warp * STEP; first < end; first += WARPS * STEP) {
        Eight k[DEPTH], v[DEPTH];
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            int cell = min(first + i * CELLS + which, end - 1);
            k[i] = load8(keys + (base + cell) * HEAD + sub * 8);
            v[i] = load8(values + (base + cell) * HEAD + sub * 8);
        }
        float score[DEPTH][GROUP];
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float x[8];
            widen8(k[i], x);
#pragma unroll
            for (int g = 0; g < GROUP; g++) {
                float dot = 0;
#pragma unroll
                for (int j = 0; j < 8; j++) dot += q[g][j] * x[j];
                score[i][g] = dot;
            }
        }
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            bool inside = first + i * CELLS + which < end;
#pragma unroll
            for (int g = 0; g < GROUP; g++) {
#pragma unroll
                for (int o = LANES / 2; o > 0; o >>= 1) score[i][g] += __shfl_xor_sync(FULL, score[i][g], o);
                if (!inside) score[i][g] = MINUS_INFINITY;
            }
        }
#pragma unroll
        for (int g = 0; g < GROUP; g++) {
            float highest = maximum[g];
#pragma unroll
            for (int i = 0; i < DEPTH; i++) highest = fmaxf(highest, score[i][g]);
            float reference = highest == MINUS_INFINITY ? 0 : highest; // no cell yet: all weights become 0
            float shrink = exp2f(maximum[g] - reference);
            maximum[g] = highest;
            weight[g] *= shrink;
#pragma unroll
            for (int j = 0; j < 8; j++) sum[g][j] *= shrink;
#pragma unroll
            for (int i = 0; i < DEPTH; i++) {
                score[i][g] = exp2f(score[i][g] - reference);
                weight[g] += score[i][g];
            }
        }
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float x[8];
            widen8(v[i], x);
#pragma unroll
            for (int g = 0; g < GROUP; g++) {
#pragma unroll
                for (int j = 0; j < 8; j++) sum[g][j] += score[i][g] * x[j];
            }
        }
    }
    // Cells of one warp, then warps.
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
        float highest = maximum[g];
#pragma unroll
        for (int o = LANES; o < 32; o <<= 1) highest = fmaxf(highest, __shfl_xor_sync(FULL, highest, o));
        float shrink = highest == MINUS_INFINITY ? 0 : exp2f(maximum[g] - highest);
        weight[g] *= shrink;
#pragma unroll
        for (int o = LANES; o < 32; o <<= 1) weight[g] += __shfl_xor_sync(FULL, weight[g], o);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float x = sum[g][j] * shrink;
#pragma unroll
            for (int o = LANES; o < 32; o <<= 1) x += __shfl_xor_sync(FULL, x, o);
            if (which == 0) sums[warp][g][sub * 8 + j] = x;
        }
        if (lane == 0) {
            maxima[warp][g] = highest;
            weights[warp][g] = weight[g];
        }
    }
    __syncthreads();
    // Parts lie as [token][kv head][split][GROUP][HEAD + 2]: sums, maximum, weight.
    float* part = partials + (((long)token * KV_HEADS + head) * splits + split) * (GROUP * (HEAD + 2));
    for (int i = threadIdx.x; i < GROUP * HEAD; i += WARPS * 32) {
        int g = i / HEAD, d = i % HEAD;
        float highest = MINUS_INFINITY;
        for (int w = 0; w < WARPS; w++) highest = fmaxf(highest, maxima[w][g]);
        float total = 0, x = 0;
        for (int w = 0; w < WARPS; w++) {
            float shrink = highest == MINUS_INFINITY ? 0 : exp2f(maxima[w][g] - highest);
            total += weights[w][g] * shrink;
            x += sums[w][g][d] * shrink;
        }
        if (splits == 1) {
            result[i] = narrow(x / total);
        } else {
            part[g * (HEAD + 2) + d] = x;
            if (d == 0) {
                part[g * (HEAD + 2) + HEAD] = highest;
                part[g * (HEAD + 2) + HEAD + 1] = total;
            }
        }
    }
    if (splits == 1) return;
    __threadfence();
    __syncthreads();
    u32* counter = arrived + (long)token * KV_HEADS + head;
    if (threadIdx.x == 0) isLast = atomicAdd(counter, 1u) == splits - 1;
    __syncthreads();
    if (!isLast) return;
    __threadfence();
    const float* parts = partials + ((long)token * KV_HEADS + head) * splits * (GROUP * (HEAD + 2));
    for (int i = threadIdx.x; i < GROUP * splits; i += WARPS * 32) {
        const float* one = parts + i * (HEAD + 2) + HEAD; // i = split * GROUP + g
        factors[i] = __ldcg(one);
        shares[i] = __ldcg(one + 1);
    }
    __syncthreads();
    float highest[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
        highest[g] = MINUS_INFINITY;
        for (int s = 0; s < splits; s++) highest[g] = fmaxf(highest[g], factors[s * GROUP + g]);
    }
    __syncthreads();
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
        if (threadIdx.x < splits) {
            factors[threadIdx.x * GROUP + g] = exp2f(factors[threadIdx.x * GROUP + g] - highest[g]);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < GROUP * HEAD; i += WARPS * 32) {
        int g = i / HEAD, d = i % HEAD;
        float total = 0, x = 0;
#pragma unroll 8
        for (int s = 0; s < splits; s++) {
            total += shares[s * GROUP + g] * factors[s * GROUP + g];
            x += __ldcg(parts + (s * GROUP + g) * (HEAD + 2) + d) * factors[s * GROUP + g];
        }
        result[i] = narrow(x / total);
    }
    if (threadIdx.x == 0) *counter = 0; // for the next launch
}

// ---------------------------------------------------------------------------------------------------------------
// Gated activation: (rows, 2 n) = gate, up -> (rows, n) = silu(gate) * up. grid (blocks, rows), 256 threads.

__device__ __forceinline__ float gated(float gate, float up) { return gate / (1 + __expf(-gate)) * up; }

extern "C" __global__ void swiGlu(T* out, const T* both, int n) {
    const T* gate = both + (long)blockIdx.y * 2 * n;
    T* target = out + (long)blockIdx.y * n;
    if (n % 8 == 0) {
        int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
        if (i >= n) return;
        float g[8], u[8];
        widen8(load8(gate + i), g);
        widen8(load8(gate + n + i), u);
#pragma unroll
        for (int j = 0; j < 8; j++) target[i + j] = narrow(gated(g[j], u[j]));
    } else {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            target[i] = narrow(gated(wide(gate[i]), wide(gate[n + i])));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Matrix × vector at the speed of memory: y = W norm(x) [+ bias] [+ residual], or silu(W₁ norm(x)) * (W₂ norm(x)).
// W is (rows, columns); a warp computes a row at a time, or a row of W₁ and of W₂. grid (any), 256 threads, as many floats
// of dynamic shared memory as there are columns, rounded up to a multiple of 256.

#define ROW_WARPS 8
#define AHEAD 4

// Where element i of the vector lies in shared memory: of 256, first what the lanes read first, then the rest, so that
// neighbouring lanes read neighbouring banks.
__device__ __forceinline__ int placeOf(int i) {
    return (i & ~255) + ((i & 4) << 5) + ((i & 255) >> 3 << 2) + (i & 3);
}

// Eight weights times the elements from `at` on.
__device__ __forceinline__ float dot8(const Eight& e, const float* shared, int at) {
    float w[8];
    widen8(e, w);
    const float4 a = *(const float4*)(shared + placeOf(at)), b = *(const float4*)(shared + placeOf(at + 4));
    return w[0] * a.x + w[1] * a.y + w[2] * a.z + w[3] * a.w + w[4] * b.x + w[5] * b.y + w[6] * b.z + w[7] * b.w;
}

// Fills shared memory with x, normalised where there is a norm.
__device__ void stage(const T* x, const T* norm, int columns, float* shared) {
    __shared__ float squares[ROW_WARPS];
    float own = 0;
    for (int i = threadIdx.x * 8; i < columns; i += ROW_WARPS * 32 * 8) {
        float v[8];
        widen8(load8(x + i), v);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            shared[placeOf(i + j)] = v[j];
            own += v[j] * v[j];
        }
    }
    if (norm) {
        own = warpSum(own);
        if ((threadIdx.x & 31) == 0) squares[threadIdx.x / 32] = own;
        __syncthreads();
        float total = 0;
        for (int w = 0; w < ROW_WARPS; w++) total += squares[w];
        const float scale = rsqrtf(total / columns + EPSILON);
        for (int i = threadIdx.x * 8; i < columns; i += ROW_WARPS * 32 * 8) {
            float v[8];
            widen8(load8(norm + i), v);
#pragma unroll
            for (int j = 0; j < 8; j++) shared[placeOf(i + j)] *= scale * v[j];
        }
    }
    __syncthreads();
}

// Fetches part `part` of a row (and of the same row of the second matrix) for this lane.
template <int ROWS>
__device__ __forceinline__ void fetch(
    Eight (&to)[AHEAD][ROWS], const T* matrix, long second, int row, int part, int columns) {
    const int lane = threadIdx.x & 31;
    const T* line = matrix + (long)row * columns;
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        const int at = (part * AHEAD + i) * 256 + lane * 8;
        if (at < columns) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) to[i][r] = stream8(line + r * second + at);
        }
    }
}

// Each warp goes through rows that are as far apart as there are warps, and always has the next part on its way: the
// first one already while the vector is prepared.
template <int ROWS, typename Store>
__device__ __forceinline__ void multiply(
    const T* matrix, long second, const T* x, const T* norm, int rows, int columns, float* shared, Store store) {
    const int lane = threadIdx.x & 31;
    const int stride = gridDim.x * ROW_WARPS;
    const int parts = (columns + AHEAD * 256 - 1) / (AHEAD * 256);
    int row = blockIdx.x * ROW_WARPS + threadIdx.x / 32;
    int part = 0;
    Eight next[AHEAD][ROWS];
    if (row < rows) fetch<ROWS>(next, matrix, second, row, 0, columns);
    stage(x, norm, columns, shared);
    float result[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) result[r] = 0;
    while (row < rows) {
        Eight now[AHEAD][ROWS];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) now[i][r] = next[i][r];
        }
        const bool ends = part + 1 == parts;
        const int nextPart = ends ? 0 : part + 1, nextRow = ends ? row + stride : row;
        if (nextRow < rows) fetch<ROWS>(next, matrix, second, nextRow, nextPart, columns);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int at = (part * AHEAD + i) * 256 + lane * 8;
            if (at < columns) {
#pragma unroll
                for (int r = 0; r < ROWS; r++) result[r] += dot8(now[i][r], shared, at);
            }
        }
        if (ends) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) result[r] = warpSum(result[r]);
            if (lane == 0) store(row, result);
#pragma unroll
            for (int r = 0; r < ROWS; r++) result[r] = 0;
        }
        part = nextPart;
        row = nextRow;
    }
}

extern "C" __global__ void __launch_bounds__(ROW_WARPS * 32) matVec(
    T* out, const T* x, const T* norm, const T* matrix, const T* bias, const T* residual, int rows, int columns) {
    extern __shared__ __align__(16) float shared[];
    multiply<1>(matrix, 0, x, norm, rows, columns, shared, [=](int row, const float (&result)[1]) {
        float y = result[0];
        if (bias) y += wide(bias[row]);
        if (residual) y += wide(residual[row]);
        out[row] = narrow(y);
    });
}

extern "C" __global__ void __launch_bounds__(ROW_WARPS * 32) matVecSwiGlu(
    T* out, const T* x, const T* norm, const T* matrix, int rows, int columns) {
    extern __shared__ __align__(16) float shared[];
    multiply<2>(
        matrix, (long)rows * columns, x, norm, rows, columns, shared, [=](int row, const float (&result)[2]) {
            out[row] = narrow(gated(result[0], result[1]));
        });
}

// ---------------------------------------------------------------------------------------------------------------
// Sampling head: penalty, temperature, the TOP largest logits in order, and the logarithm of the sum of exponentials.

// Larger logits have larger keys, and of equal ones the smaller token has the larger. NaN is above all numbers.
__device__ __forceinline__ u64 keyOf(float x, u32 token) {
    u32 bits = __float_as_uint(x);
    if (x != x) bits = 0x7fffffffu;
    u32 ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (u64)ordered << 32 | (0xffffffffu - token);
}

__device__ __forceinline__ float logitOf(u64 key) {
    u32 ordered = (u32)(key >> 32);
    return __uint_as_float(ordered & 0x80000000u ? ordered & 0x7fffffffu : ~ordered);
}

// The `wanted` largest of n different keys, in no order; 256 threads. Radix selection from the highest byte.
__device__ void selectLargest(const u64* keys, int n, int wanted, u64* out) {
    __shared__ u32 histogram[256];
    __shared__ u64 prefix;
    __shared__ int need;
    __shared__ int done;
    __shared__ u32 taken;
    const int thread = threadIdx.x;
    if (thread == 0) {
        prefix = 0;
        need = wanted;
        done = n <= wanted;
        taken = 0;
    }
    __syncthreads();
    u64 mask = 0;
    for (int shift = 56; shift >= 0 && !done; shift -= 8) {
        histogram[thread] = 0;
        __syncthreads();
        for (int i = thread; i < n; i += 256) {
            if ((keys[i] & mask) == prefix) atomicAdd(&histogram[(keys[i] >> shift) & 255], 1u);
        }
        __syncthreads();
        if (thread < 32) {
            // Bins from the highest: lane 0 has 255 … 248.
            u32 bins[8], own = 0;
            for (int j = 0; j < 8; j++) {
                bins[j] = histogram[255 - thread * 8 - j];
                own += bins[j];
            }
            u32 before = own;
            for (int o = 1; o < 32; o <<= 1) {
                u32 other = __shfl_up_sync(FULL, before, o);
                if (thread >= o) before += other;
            }
            before -= own;
            int wantedNow = need;
            __syncwarp();
            for (int j = 0; j < 8; j++) {
                if ((int)before < wantedNow && (int)(before + bins[j]) >= wantedNow) {
                    prefix |= (u64)(255 - thread * 8 - j) << shift;
                    need = wantedNow - before;
                    done = (int)bins[j] == wantedNow - (int)before;
                }
                before += bins[j];
            }
        }
        mask |= (u64)255 << shift;
        __syncthreads();
    }
    // All keys whose checked bytes reach the prefix's are wanted, and they are as many.
    for (int i = thread; i < n; i += 256) {
        if ((keys[i] & mask) >= prefix) out[atomicAdd(&taken, 1u)] = keys[i];
    }
    __syncthreads();
}

// grid (blocks, rows), 256 threads: logits = raw / temperature.
extern "C" __global__ void temper(float* logits, const T* raw, const float* inverseTemperature, int vocabulary) {
    const long row = (long)blockIdx.y * vocabulary;
    const float factor = inverseTemperature[blockIdx.y];
    for (int i = blockIdx.x * 256 + threadIdx.x; i < vocabulary; i += gridDim.x * 256) {
        logits[row + i] = wide(raw[row + i]) * factor;
    }
}

// grid (blocks, rows), 256 threads: the same for penalised tokens; some may occur twice.
extern "C" __global__ void penalise(
    float* logits, const T* raw, const float* inverseTemperature, const float* penalty, const long long* tokens,
    const float* offsets, int count, int vocabulary) {
    const long row = (long)blockIdx.y * vocabulary;
    const float factor = inverseTemperature[blockIdx.y], p = penalty[blockIdx.y];
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
        const long long token = tokens[(long)blockIdx.y * count + i];
        const float x = wide(raw[row + token]);
        logits[row + token] = ((x > 0 ? x / p : x * p) - offsets[(long)blockIdx.y * count + i]) * factor;
    }
}

// grid (blocks, rows), 256 threads, chunk keys of dynamic shared memory: TOP candidates of each chunk, its maximum and
// its sum of exponentials. If raw is given, the logits are made from it on the way.
extern "C" __global__ void __launch_bounds__(256) candidates(
    float* logits, const T* raw, const float* inverseTemperature, u64* best, float* statistics, int vocabulary,
    int chunk) {
    extern __shared__ __align__(16) u64 keys[];
    __shared__ float perWarp[8];
    const int begin = blockIdx.x * chunk, n = max(0, min(chunk, vocabulary - begin));
    const long row = (long)blockIdx.y * vocabulary + begin;
    const float factor = raw ? inverseTemperature[blockIdx.y] : 1;
    float highest = MINUS_INFINITY;
    for (int i = threadIdx.x; i < n; i += 256) {
        float x;
        if (raw) {
            x = wide(raw[row + i]) * factor;
            logits[row + i] = x;
        } else {
            x = logits[row + i];
        }
        keys[i] = keyOf(x, begin + i);
        highest = fmaxf(highest, x);
    }
    highest = warpMax(highest);
    if ((threadIdx.x & 31) == 0) perWarp[threadIdx.x / 32] = highest;
    __syncthreads();
    for (int w = 0; w < 8; w++) highest = fmaxf(highest, perWarp[w]);
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) {
        float x = logitOf(keys[i]);
        sum += x == highest ? 1 : __expf(x - highest);
    }
    sum = warpSum(sum);
    if ((threadIdx.x & 31) == 0) perWarp[threadIdx.x / 32] = sum;
    __syncthreads();
    u64* target = best + ((long)blockIdx.y * gridDim.x + blockIdx.x) * TOP;
    for (int i = n + threadIdx.x; i < TOP; i += 256) target[i] = 0;
    if (threadIdx.x == 0) {
        sum = 0;
        for (int w = 0; w < 8; w++) sum += perWarp[w];
        float* own = statistics + ((long)blockIdx.y * gridDim.x + blockIdx.x) * 2;
        own[0] = highest;
        own[1] = sum;
    }
    selectLargest(keys, n, TOP, target);
}

// grid (rows), 256 threads, blocks * TOP keys of dynamic shared memory: the best of all chunks, in order.
extern "C" __global__ void __launch_bounds__(256) winners(
    float* topLogits, long long* topTokens, float* logSum, const u64* best, const float* statistics, int blocks,
    int top) {
    extern __shared__ __align__(16) u64 keys[];
    __shared__ u64 chosen[TOP];
    const int row = blockIdx.x, n = blocks * TOP;
    for (int i = threadIdx.x; i < n; i += 256) keys[i] = best[(long)row * n + i];
    // Where there are fewer than TOP, the zeros that stand for none are no different keys.
    if (threadIdx.x < TOP) chosen[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        float highest = MINUS_INFINITY, sum = 0;
        for (int i = threadIdx.x; i < blocks; i += 32) highest = fmaxf(highest, statistics[((long)row * blocks + i) * 2]);
        highest = warpMax(highest);
        for (int i = threadIdx.x; i < blocks; i += 32) {
            const float* one = statistics + ((long)row * blocks + i) * 2;
            if (one[1] != 0) sum += one[1] * (one[0] == highest ? 1 : __expf(one[0] - highest));
        }
        sum = warpSum(sum);
        if (threadIdx.x == 0) logSum[row] = highest + logf(sum);
    }
    if (top < TOP) {
        // A vocabulary smaller than TOP: one chunk holds everything.
        for (int i = threadIdx.x; i < top; i += 256) chosen[i] = keys[i];
        __syncthreads();
    } else {
        selectLargest(keys, n, TOP, chosen);
    }
    // Bitonic sort, descending.
    for (int size = 2; size <= TOP; size <<= 1) {
        for (int stride = size / 2; stride > 0; stride >>= 1) {
            if (threadIdx.x < TOP) {
                int other = threadIdx.x ^ stride;
                if (other > threadIdx.x) {
                    u64 a = chosen[threadIdx.x], b = chosen[other];
                    bool descending = (threadIdx.x & size) == 0;
                    if (descending ? a < b : a > b) {
                        chosen[threadIdx.x] = b;
                        chosen[other] = a;
                    }
                }
            }
            __syncthreads();
        }
    }
    if (threadIdx.x < top) {
        topLogits[(long)row * top + threadIdx.x] = logitOf(chosen[threadIdx.x]);
        topTokens[(long)row * top + threadIdx.x] = 0xffffffffu - (u32)chosen[threadIdx.x];
    }
}
