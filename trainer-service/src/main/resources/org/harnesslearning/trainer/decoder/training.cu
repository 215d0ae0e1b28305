// What PyTorch does in several passes over large tensors, in one: compiled by NVRTC with
//   TYPE      number type of activations: 0 float, 2 bfloat16
// All arithmetic is in float, rounded once at the end.

typedef unsigned int u32;
typedef long long i64;

#if TYPE == 0
typedef float T;
__device__ __forceinline__ float wide(T x) { return x; }
__device__ __forceinline__ T narrow(float x) { return x; }
#else
typedef unsigned short T;
__device__ __forceinline__ float wide(T x) { return __uint_as_float((u32)x << 16); }
__device__ __forceinline__ T narrow(float x) {
    T y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
#endif

#define MINUS_INFINITY __int_as_float(0xff800000)
#define FULL 0xffffffffu
#define WARPS 16

// Eight neighbours as they lie in memory, 16-byte aligned.
union Eight {
    T values[8];
#if TYPE == 0
    uint4 words[2];
#else
    uint4 words[1];
#endif
};

__device__ __forceinline__ Eight load(const T* p) {
    Eight e;
    e.words[0] = ((const uint4*)p)[0];
#if TYPE == 0
    e.words[1] = ((const uint4*)p)[1];
#endif
    return e;
}

__device__ __forceinline__ void store(T* p, const Eight& e) {
    ((uint4*)p)[0] = e.words[0];
#if TYPE == 0
    ((uint4*)p)[1] = e.words[1];
#endif
}

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

// (rows, 2 n) = gate, up -> (rows, n) = silu(gate) * up. One thread for eight numbers; n is a multiple of 8.
extern "C" __global__ void gated(const T* gate_up, T* out, int n, i64 eights) {
    i64 at = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (at >= eights) return;
    int pieces = n / 8;
    i64 row = at / pieces;
    i64 column = 8 * (at % pieces);
    const T* p = gate_up + row * 2 * n + column;
    Eight gate = load(p), up = load(p + n), result;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float g = wide(gate.values[i]);
        result.values[i] = narrow(g * sigmoid(g) * wide(up.values[i]));
    }
    store(out + row * n + column, result);
}

// Gradients of gate and up, (rows, 2 n), from that of the result, (rows, n).
extern "C" __global__ void gated_back(const T* gradient, const T* gate_up, T* out, int n, i64 eights) {
    i64 at = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (at >= eights) return;
    int pieces = n / 8;
    i64 row = at / pieces;
    i64 column = 8 * (at % pieces);
    i64 place = row * 2 * n + column;
    Eight gate = load(gate_up + place), up = load(gate_up + place + n), slope = load(gradient + row * n + column);
    Eight to_gate, to_up;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float g = wide(gate.values[i]), s = sigmoid(g), d = wide(slope.values[i]);
        to_up.values[i] = narrow(d * g * s);
        to_gate.values[i] = narrow(d * wide(up.values[i]) * s * (1.0f + g * (1.0f - s)));
    }
    store(out + place, to_gate);
    store(out + place + n, to_up);
}

// Rotary embedding, half-split: (tokens, heads, 2 half) with a stride between tokens; cosines and sines (tokens, half).
// sign -1: the gradient. One thread for eight pairs; half is a multiple of 8.
extern "C" __global__ void rotate(const T* source, i64 source_stride, T* target, i64 target_stride, const T* cosines,
                                  const T* sines, int heads, int half, float sign, i64 eights) {
    i64 at = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (at >= eights) return;
    int pieces = half / 8;
    int within = (int)(at % (heads * pieces));
    i64 token = at / (heads * pieces);
    int column = 8 * (within % pieces);
    i64 place = (i64)(within / pieces) * 2 * half + column;
    const T* p = source + token * source_stride + place;
    T* q = target + token * target_stride + place;
    Eight first = load(p), second = load(p + half);
    Eight cosine = load(cosines + token * half + column), sine = load(sines + token * half + column);
    Eight new_first, new_second;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float x = wide(first.values[i]), y = wide(second.values[i]);
        float c = wide(cosine.values[i]), s = sign * wide(sine.values[i]);
        new_first.values[i] = narrow(x * c - y * s);
        new_second.values[i] = narrow(y * c + x * s);
    }
    store(q, new_first);
    store(q + half, new_second);
}

// Running maximum m, sum of exp(z - m) and sum of z exp(z - m) of some logits z.
struct Sums {
    float most, mass, weighted;
};

__device__ __forceinline__ Sums joined(const Sums& a, const Sums& b) {
    float most = fmaxf(a.most, b.most);
    if (most == MINUS_INFINITY) return {most, a.mass + b.mass, a.weighted + b.weighted};
    float f = __expf(a.most - most), g = __expf(b.most - most);
    return {most, a.mass * f + b.mass * g, a.weighted * f + b.weighted * g};
}

// For each row z = logits * scale, p = softmax(z): ln p of the target, the entropy of p and, where wanted, the gradient of
// that logarithm, 1 at the target minus p, in place of the logits. grid rows, 512 threads; columns is a multiple of 8.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    scores(T* logits, const i64* targets, float scale, float* logprobs, float* entropies, int columns, int gradient) {
    __shared__ Sums partial[WARPS];
    T* row = logits + (i64)blockIdx.x * columns;
    int target = (int)targets[blockIdx.x];
    float chosen = wide(row[target]) * scale;

    Sums sums = {MINUS_INFINITY, 0.0f, 0.0f};
    for (int at = 8 * threadIdx.x; at < columns; at += 8 * blockDim.x) {
        Eight e = load(row + at);
        float z[8], most = sums.most;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            z[i] = wide(e.values[i]) * scale;
            most = fmaxf(most, z[i]);
        }
        float f = most == MINUS_INFINITY ? 1.0f : __expf(sums.most - most);
        float mass = sums.mass * f, weighted = sums.weighted * f;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float x = __expf(z[i] - most);
            mass += x;
            weighted += z[i] * x;
        }
        sums = {most, mass, weighted};
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        Sums other = {__shfl_xor_sync(FULL, sums.most, offset), __shfl_xor_sync(FULL, sums.mass, offset),
                      __shfl_xor_sync(FULL, sums.weighted, offset)};
        sums = joined(sums, other);
    }
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sums;
    __syncthreads();
    sums = partial[0];
    for (int warp = 1; warp < WARPS; warp++) sums = joined(sums, partial[warp]);
    float whole = sums.most + logf(sums.mass);
    if (threadIdx.x == 0) {
        logprobs[blockIdx.x] = chosen - whole;
        entropies[blockIdx.x] = whole - sums.weighted / sums.mass;
    }
    if (!gradient) return;
    for (int at = 8 * threadIdx.x; at < columns; at += 8 * blockDim.x) {
        Eight e = load(row + at);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float p = __expf(wide(e.values[i]) * scale - whole);
            e.values[i] = narrow((at + i == target ? 1.0f : 0.0f) - p);
        }
        store(row + at, e);
    }
}
