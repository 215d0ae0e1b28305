"""Speed of LoRA training with Hugging Face PEFT on the checkpoint, batch and settings of TrainingBenchmark.

usage: peft_training.py CHECKPOINT DEVICE BATCH LENGTH RANK STEPS WARMUP CHECKPOINTING

Whole steps: forward with loss on every token, backward, clipping, AdamW (fused on a GPU); the adapter in fp32 as PEFT
makes it, the base in bfloat16 (fp32 on a processor); attention by PyTorch's scaled_dot_product_attention.
"""

import sys
import time

import peft
import torch
import transformers
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def main():
    path, device = sys.argv[1:3]
    batch, length, rank, steps, warmup = (int(v) for v in sys.argv[3:8])
    checkpointing = sys.argv[8] == "true"
    gpu = device == "cuda"
    if not gpu:
        torch.set_num_threads(1)
    start = time.time()
    model = AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.bfloat16 if gpu else torch.float32, attn_implementation="sdpa").to(device)
    model.config.use_cache = False
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=rank, lora_alpha=2 * rank, lora_dropout=0.0,
                                             target_modules=TARGETS))
    if checkpointing:
        model.enable_input_require_grads()
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0.0, fused=gpu)
    print(f"peft {peft.__version__}, transformers {transformers.__version__}, torch {torch.__version__}: loaded in "
          f"{time.time() - start:.1f} s, {sum(p.numel() for p in trained):,} trained weights, "
          f"checkpointing {checkpointing}")
    vocabulary = model.config.vocab_size
    ids = torch.tensor([[(7919 * i + 104729 * row + 13) % vocabulary for i in range(length)] for row in range(batch)],
                       device=device)

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        return loss, norm

    for i in range(warmup + steps):
        if i == warmup:
            if gpu:
                torch.cuda.synchronize()
            start = time.time()
        loss, norm = step()
        if i in (0, warmup + steps - 1):
            print(f"peft: step {i}, loss {loss.item():.4f}, gradient norm {norm.item():.4f}", flush=True)
    if gpu:
        torch.cuda.synchronize()
        print(f"peft: {torch.cuda.max_memory_allocated() / 1e9:.1f} GB at most")
    seconds = (time.time() - start) / steps
    print(f"peft: {1e3 * seconds:.1f} ms a step\npeft_tokens_per_second={batch * length / seconds:.1f}")


if __name__ == "__main__":
    main()
