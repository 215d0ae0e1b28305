"""Decode speed of Hugging Face Transformers on the checkpoint and prompt of GpuBenchmark.

usage: transformers_decode.py CHECKPOINT [PROMPT [NEW [BATCH ...]]]

The time of a step is (time of NEW tokens − time of one token) / (NEW − 1): greedy `generate`, default attention and cache.
"""

import sys
import time

import torch
import transformers
from transformers import AutoModelForCausalLM


def main():
    path = sys.argv[1]
    prompt = int(sys.argv[2]) if len(sys.argv) > 2 else 512
    new = int(sys.argv[3]) if len(sys.argv) > 3 else 256
    batches = [int(b) for b in sys.argv[4:]] or [1, 16, 64]
    start = time.time()
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16, device_map="cuda")
    model.eval()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: loaded in {time.time() - start:.1f} s")
    vocabulary = model.config.vocab_size
    ids = torch.tensor([[(7919 * i + 13) % vocabulary for i in range(prompt)]], device="cuda")

    def run(batch, count):
        inputs = ids.repeat(batch, 1)
        torch.cuda.synchronize()
        begin = time.time()
        with torch.inference_mode():
            out = model.generate(
                inputs,
                attention_mask=torch.ones_like(inputs),
                max_new_tokens=count,
                min_new_tokens=count,
                do_sample=False,
                pad_token_id=0,
            )
        torch.cuda.synchronize()
        return time.time() - begin, out[0, prompt : prompt + 8].tolist()

    run(1, 4)
    for batch in batches:
        first, _ = run(batch, 1)
        whole, tokens = run(batch, new)
        step = (whole - first) / (new - 1)
        print(
            f"transformers batch {batch:2d}: {batch / step:8.1f} tokens/s in all, {1e3 * step:.2f} ms a step, "
            f"prefill {1e3 * first:.1f} ms, tokens {tokens}",
            flush=True,
        )


if __name__ == "__main__":
    main()
