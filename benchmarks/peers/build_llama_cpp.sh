#!/usr/bin/env bash
# Builds llama.cpp's llama-batched-bench for this machine into DIR/llama-batched-bench, from the source that the Python
# package llama-cpp-python carries. Needs python3 with venv, a C++ compiler and about ten minutes on two cores.
set -euo pipefail

version=0.3.36
dir=$(mkdir -p "${1:?usage: build_llama_cpp.sh DIR}" && cd "$1" && pwd)
if [ -x "$dir/llama-batched-bench" ]; then
  exit 0
fi
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q cmake ninja scikit-build-core
PATH="$dir/venv/bin:$PATH" "$dir/venv/bin/pip" download -q --no-deps --no-binary :all: --no-build-isolation \
  -d "$dir" "llama-cpp-python==$version"
tar xzf "$dir/llama_cpp_python-$version.tar.gz" -C "$dir"
source="$dir/llama_cpp_python-$version/vendor/llama.cpp"
"$dir/venv/bin/cmake" -S "$source" -B "$dir/build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON \
  -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
  -DLLAMA_BUILD_SERVER=OFF
"$dir/venv/bin/cmake" --build "$dir/build" --target llama-batched-bench -j "$(nproc)"
cp "$dir/build/bin/llama-batched-bench" "$dir/"
