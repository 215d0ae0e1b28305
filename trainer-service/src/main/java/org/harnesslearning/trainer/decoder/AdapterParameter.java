package org.harnesslearning.trainer.decoder;

import org.bytedeco.pytorch.Tensor;

/**
 * One factor of an adapter. The tensors belong to the decoder: they live as long as it, keep their address, and are views
 * of {@link TrainableDecoder#values()} and {@link TrainableDecoder#gradients()}.
 *
 * @param name as PEFT names it, e.g. {@code base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight}
 * @param value master weights, fp32: A is (rank, inputs), B is (outputs, rank)
 * @param gradient what the backward passes since the last zeroing have added up, fp32, same shape
 */
public record AdapterParameter(String name, Tensor value, Tensor gradient) {}
