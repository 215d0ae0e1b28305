"""Prints, as JSON, the logits that Hugging Face PEFT gives with an adapter that this project saved.

usage: peft_logits.py CHECKPOINT ADAPTER TOKENS…    (each TOKENS: ids joined by commas, logits after the last)
"""

import json
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
model = PeftModel.from_pretrained(model, sys.argv[2]).eval()
result = []
for text in sys.argv[3:]:
    ids = torch.tensor([[int(token) for token in text.split(",")]])
    with torch.no_grad():
        result.append([float(value) for value in model(ids).logits[0, -1]])
print(json.dumps({"adapter_parameters": sum(p.numel() for k, p in model.named_parameters() if "lora_" in k),
                  "logits": result}))
